import { isGranted } from '../../sources/scopes.ts';
import type { NeededScope, Source } from '../../sources/source.ts';

type ScopedSource = Pick<Source, 'neededScopes'>;

export function findMissingScopes({ neededScopes }: ScopedSource, granted: readonly string[]): NeededScope[] {
  return neededScopes.filter(({ scope }) => !isGranted(granted, scope));
}

/** Whether a token with these scopes may call the operation. */
export function mayCall(source: ScopedSource, granted: readonly string[], operation: keyof Source): boolean {
  return findMissingScopes(source, granted).every(({ operations }) => !operations.includes(operation));
}
