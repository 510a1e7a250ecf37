import { operations as declared } from '../operations/all.ts';
import { type Operation, ofTable } from './operation-schema.ts';
import { importOperations } from './operations/imports.ts';
import { usageOperations } from './operations/usage.ts';

/** Everything that the API can do. */
export const operations: readonly Operation[] = [...declared.map(ofTable), ...usageOperations, ...importOperations];
