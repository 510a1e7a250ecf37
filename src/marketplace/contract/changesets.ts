import { z } from 'zod';
import { audiences, base, keyed, read, Summary, write } from './instructions.ts';
import { family, op } from './operation.ts';
import { conflictCodes } from './refusals.ts';
import { id, note, paging, title } from './requests.ts';
import { lenient, pageOf, words } from './shapes.ts';
import { Amount, AnyRecord, Id, Instant, NullableId, Text } from './values.ts';

/** Atomic changes of manuals, and their review (spec: part B sections 2.1, 3 and 4.1). */

export const operationKinds = [
  'PATCH_CONTENT',
  'REPLACE_CONTENT',
  'CREATE_PAGE',
  'RENAME_PAGE',
  'MOVE_PAGE',
  'SET_AUDIENCE',
  'ARCHIVE_PAGE',
  'RESTORE_PAGE',
  'ATTACH_ASSET',
] as const;
export const patchKinds = [
  'replace_node',
  'insert_before',
  'insert_after',
  'append_children',
  'set_attrs',
  'delete_node',
] as const;

const key = z.string().min(1).max(200);
/** Assumed beyond `PATCH_CONTENT`: only the fields that a kind names are used. */
export const ChangesetOperation = z.object({
  kind: z.enum(operationKinds),
  manualId: id.optional(),
  pageId: id.optional(),
  baseRevisionNumber: z.int().min(0).optional(),
  baseChecksum: z.string().optional(),
  ops: z
    .array(
      z.object({
        op: z.enum(patchKinds),
        nodeId: z.string().nullish(),
        nodes: z.array(AnyRecord).optional(),
        attrs: AnyRecord.optional(),
      }),
    )
    .optional(),
  content: AnyRecord.optional(),
  confirmReplace: z.boolean().optional(),
  clientPageKey: key.optional(),
  /** A page, `new:<clientPageKey>`, or null for the top. */
  parentId: z.string().nullish(),
  position: z.int().min(0).optional(),
  title: title.optional(),
  /** Any text, so that an unknown one is a conflict of its operation. */
  audience: words(...audiences).nullish(),
  assetId: id.optional(),
});
export type ChangesetOperation = z.infer<typeof ChangesetOperation>;

const changes = z.object({
  workspaceId: id,
  description: note,
  operations: z.array(ChangesetOperation).min(1).max(500),
});

const Conflict = z.object({
  operationIndex: Amount,
  code: words(...conflictCodes),
  message: Text,
  pageId: NullableId,
  nodeId: NullableId,
  currentRevisionNumber: Amount,
  currentChecksum: Text,
});
export type Conflict = z.infer<typeof Conflict>;
const Conflicts = lenient(z.array(Conflict));

const Changeset = z.object({
  id: Id,
  workspaceId: Id,
  status: words('SUBMITTED', 'APPROVED', 'REJECTED', 'APPLIED', 'CONFLICTED'),
  description: Text,
  decisionNote: Text,
  createdAt: Instant,
  operations: lenient(z.array(AnyRecord)),
  conflicts: Conflicts,
});

const OneChangeset = z.object({ changeset: Changeset });
const ofChangeset = `${base}/changesets/{changesetId}` as const;

const proposing = { scopes: ['instructions:write|instructions:propose'], role: 'EDITOR', in: changes } as const;
const reviewing = {
  scopes: ['instructions:review'],
  role: 'REVIEWER',
  in: z.object({ decisionNote: note }),
  out: OneChangeset,
  refusals: [409],
} as const;
const conflicting = {
  out: z.object({ changeset: lenient(Changeset), pages: lenient(z.array(AnyRecord)), conflicts: Conflicts }),
  reasons: conflictCodes,
} as const;

export const changesets = family('changesets', {
  ...read,
  assumed: 'The envelopes, the words of the status, 409 with details.conflicts and the first code as details.reason.',
})({
  validate: op(`POST ${base}/changesets/validate`, 'check a changeset', {
    ...proposing,
    out: z.object({ valid: z.boolean(), conflicts: Conflicts }),
  }),
  diff: op(`POST ${base}/changesets/diff`, 'show what a changeset would change', {
    ...proposing,
    out: Summary.extend({ conflicts: Conflicts }),
  }),
  apply: op(`POST ${base}/changesets/apply`, 'apply a changeset', {
    ...write,
    ...conflicting,
    in: changes,
    idempotency: 'header',
  }),
  submit: op(`POST ${base}/changesets/submit`, 'submit a changeset for review', {
    ...proposing,
    ...keyed,
    scopes: ['instructions:propose'],
    out: OneChangeset,
  }),
  list: op(`GET ${base}/changesets`, 'list the changesets of a workspace', {
    in: z.object({ workspaceId: id, status: z.string().optional(), ...paging() }),
    out: pageOf('changesets', Changeset),
  }),
  get: op(`GET ${ofChangeset}`, 'read a changeset', { out: OneChangeset }),
  approve: op(`POST ${ofChangeset}/approve`, 'approve a changeset', reviewing),
  reject: op(`POST ${ofChangeset}/reject`, 'reject a changeset', reviewing),
  applyStored: op(`POST ${ofChangeset}/apply`, 'apply an approved changeset', {
    ...write,
    ...conflicting,
    refusals: [409],
  }),
});
