import { deliveries } from './deliveries.ts';
import { links } from './links.ts';
import type { Operation } from './operation.ts';

/** Every operation. A command loads only its own noun, by `nouns.ts`. */
export const operations: readonly Operation[] = [...links, ...deliveries];
