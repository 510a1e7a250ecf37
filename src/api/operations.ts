import { operations as declared } from '../operations/all.ts';
import { type Operation, ofTable } from './operation-schema.ts';
import { driftOperations } from './operations/drift.ts';
import { explainOperations } from './operations/explain.ts';
import { importOperations } from './operations/imports.ts';
import { membershipActs } from './operations/membership-acts.ts';
import { membershipOperations } from './operations/memberships.ts';
import { peopleOperations } from './operations/people.ts';
import { planOperations } from './operations/plans.ts';
import { statusOperations } from './operations/status.ts';
import { usageOperations } from './operations/usage.ts';

/** Everything that the API can do. */
export const operations: readonly Operation[] = [
  ...declared.map(ofTable),
  ...statusOperations,
  ...membershipOperations,
  ...explainOperations,
  ...driftOperations,
  ...membershipActs,
  ...peopleOperations,
  ...planOperations,
  ...usageOperations,
  ...importOperations,
];
