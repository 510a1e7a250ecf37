import { z } from 'zod';
import { toId, toText } from '../../domain/marketplace-text.ts';
import { Id, lenient, NullableId, optional, pageOf, recordIn } from '../fields-schema.ts';

/**
 * What is read of the answers about instruction manuals (spec: part B sections 2.1 and 4.1; the envelopes are
 * assumed).
 */

const Count = z.int().min(0);

export const WorkspacePage = pageOf('workspaces', z.object({ id: Id }));

const Binding = z.object({ kind: z.string(), targetId: Id, precedence: z.number() });

/** Without bindings in a list, a manual has to be read by itself. */
const Manual = z.object({ id: Id, bindings: lenient(z.array(Binding)) });
export type Manual = z.infer<typeof Manual>;

export const ManualPage = pageOf('manuals', Manual);
export const ManualAnswer = recordIn('manual', Manual);

export const PublicationPage = pageOf(
  'publications',
  z.object({ publicationNumber: Count, audiences: z.array(z.string()) }),
);

const ManifestPage = z.object({
  pageId: Id,
  title: optional(toText),
  revision: Count,
  parentId: NullableId,
  position: z.number().catch(0),
  /** Which audience a page is for, if not all of its publication. */
  audience: optional(toId),
  checksum: optional(toId),
});
export type ManifestPage = z.infer<typeof ManifestPage>;

export const Manifest = z.object({ publicationNumber: Count, pages: z.array(ManifestPage).max(200) });

const PageId = z
  .object({ id: lenient(Id), pageId: lenient(Id) })
  .transform(({ id, pageId }) => ({ id: id ?? pageId ?? null }));

/** The specification does not name the field of its id. The canonical JSON is validated where it is converted. */
export const PageAnswer = recordIn(
  'page',
  PageId.and(z.object({ revision: lenient(Count), checksum: optional(toId), content: z.unknown() })),
);
