import { z } from 'zod';
import { mapOf } from '../settings-schema.ts';

export const RosterSettings = z.object({
  /** Absolute: the configuration has resolved it. */
  path: z.string({ error: 'a roster needs "path", the JSON file it keeps' }).min(1),
});
export type RosterSettings = z.infer<typeof RosterSettings>;

/** A person's entry in the file. Fields that another program added are kept. */
export const RosterMember = z.looseObject({
  id: z.string(),
  email: z.string(),
  displayName: z.string(),
  status: z.literal('active'),
});
export type RosterMember = z.infer<typeof RosterMember>;

/** The whole file (design section 7). Other fields in it are kept. */
export const Roster = z.looseObject({ groups: mapOf(z.array(RosterMember)) });
export type Roster = z.infer<typeof Roster>;
