import type { SeededPerson } from './watched-tool.ts';

/** Who there is, and what the hostile customer knows of them: everything. */

/** In the tool by other hands than ours, and to be as they were whatever is forged. */
export const bystanders = [
  { name: 'operator', email: 'owner@example.com', isActive: true, groups: ['staff', 'b-1'] },
  { name: 'admin', email: 'admin@lab.example', isActive: true, groups: ['staff', 'b-1'] },
  { name: 'chief', email: 'chief.kim@lab.example', isActive: true, groups: ['staff'] },
  { name: 'former', email: 'former.keeper@lab.example', isActive: false, groups: ['staff', 'b-1'] },
  { name: 'employee', email: 'employee@lab.example', isActive: true, groups: [] },
  { name: 'colleague', email: 'colleague@lab.example', isActive: true, groups: ['a-1', 'b-1'] },
] as const satisfies readonly SeededPerson[];

/** Put into the tool by the marketplace itself, for a link of the honest customer. */
export const managed = {
  name: 'usr-m1',
  email: 'managed.one@opentrain.work',
  isActive: true,
  groups: ['b-9'],
} as const satisfies SeededPerson;

/** The only one whose accounts the configuration protects, by id. */
export const protectedName = 'operator';

export const honestProjects = ['b-1', 'b-2'] as const;
export const managedProject = 'b-9';
export const ownProjects = ['a-1', 'a-2', 'a-3'] as const;

export interface HonestTrainer {
  trainerId: string;
  email: string;
  project: (typeof honestProjects)[number];
}

export const honestTrainers: readonly HonestTrainer[] = Array.from({ length: 8 }, (_, index) => ({
  trainerId: `usr-h${index + 1}`,
  email: `kind.trainer.${index + 1}@opentrain.work`,
  project: index % 3 === 2 ? 'b-2' : 'b-1',
}));

/** Friends of the hostile customer, one of them with an address that the marketplace made. */
export const colluders = ['colluder@evil.example', 'colluder.two@opentrain.work'] as const;
