import type { Mutant } from './mutant.ts';
import { mutantsOfEvidence } from './of-evidence.ts';
import { mutantsOfMemberships } from './of-memberships.ts';
import { mutantsOfRemovals } from './of-removals.ts';

export const mutants: readonly Mutant[] = [...mutantsOfEvidence, ...mutantsOfMemberships, ...mutantsOfRemovals];
