import { z } from 'zod';
import { toEmail, toId, toText } from '../domain/marketplace-text.ts';

/**
 * The marketplace's answers as far as they are used (spec: platform-api.md). Tolerant: unknown
 * fields pass, and what is optional may be missing or odd; without its id a record is none.
 */
const Id = z.unknown().transform((value, context) => {
  const id = toId(value);
  if (id !== undefined) return id;
  context.addIssue('not an id');
  return z.NEVER;
});

function optional(read: (value: unknown) => string | undefined) {
  return z
    .unknown()
    .transform((value) => read(value) ?? null)
    .prefault(null);
}

export const Install = z.object({ id: Id, status: z.string() });
export type Install = z.infer<typeof Install>;

export const InstallAnswer = z.object({ install: Install });

export const ProjectLink = z.object({
  id: Id,
  externalProjectId: Id,
  externalProjectName: optional(toText),
  provisioningMode: optional(toId),
});
export type ProjectLink = z.infer<typeof ProjectLink>;

export const ProjectLinkList = z.object({ projectLinks: z.array(ProjectLink) });

export const ProjectLinkAnswer = z.object({ projectLink: ProjectLink });

export const Contract = z.object({
  id: Id,
  status: z.string(),
  title: optional(toText),
  projectLinkIds: z.array(Id).catch([]),
});
export type Contract = z.infer<typeof Contract>;

export const ContractList = z.object({
  contracts: z.array(Contract),
  nextCursor: z.string().nullish().catch(null),
});

export const Participant = z.object({
  opentrainUserId: Id,
  displayName: optional(toText),
  workEmail: optional(toEmail),
});
export type Participant = z.infer<typeof Participant>;

export const ParticipantList = z.object({ participants: z.array(Participant) });
