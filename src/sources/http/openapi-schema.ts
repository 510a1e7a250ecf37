import { z } from 'zod';

/** The part that can be compared. The operations are in `paths`, by path and method. */
export const OpenapiDocument = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
});
export type OpenapiDocument = z.infer<typeof OpenapiDocument>;
