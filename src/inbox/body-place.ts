import { keyOf } from './append-store.ts';

/** Where the body of a delivery lies, as its seal is bound to it. */
export function bodyPlace(install: string, bodySha256: Buffer): string {
  return `delivery.body:${keyOf(install, bodySha256)}`;
}
