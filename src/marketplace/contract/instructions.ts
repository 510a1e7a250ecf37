import { z } from 'zod';
import { family, op } from './operation.ts';
import { id, note, title } from './requests.ts';
import { fields, lenient, listing, maybeWord, pageOf, words } from './shapes.ts';
import { Amount, AnyRecord, Anything, Count, Id, Instant, MaybeId, NullableId, Text, Words } from './values.ts';

/** Instruction manuals (spec: part B sections 2.1 and 4.1, employer-api.md). */

export const audiences = ['ADMIN', 'CONTRIBUTOR', 'REVIEWER', 'WORKER'] as const;
const audience = z.enum(audiences);
export const bindingKinds = ['JOB', 'FOLDER', 'WORK_PROJECT'] as const;
export const workspaceRoles = ['OWNER', 'EDITOR', 'REVIEWER', 'VIEWER'] as const;
const binding = z.object({ kind: z.enum(bindingKinds), targetId: id, precedence: z.int().optional() });
const manualFields = { title, audience, bindings: z.array(binding) };

const Workspace = z.object({ id: Id, name: Text, createdAt: Instant });
const Permission = z.object({ principalId: Id, role: words(...workspaceRoles) });
const Binding = z.object({ kind: words(...bindingKinds), targetId: Id, precedence: z.number() });

/** If a list has no bindings, the manual has to be read on its own. */
const Manual = z.object({
  id: Id,
  workspaceId: NullableId,
  title: Text,
  audience: maybeWord(...audiences),
  bindings: lenient(z.array(Binding)),
  head: lenient(z.object({ revisionNumber: Count })),
});
export type Manual = z.infer<typeof Manual>;

export const TreePage = z.object({
  pageId: Id,
  title: Text,
  parentId: NullableId,
  position: Amount,
  audience: MaybeId,
  revisionNumber: Amount,
  checksum: Text,
  archived: lenient(z.boolean()),
  children: lenient(z.array(Anything)),
});
export type TreePage = z.output<typeof TreePage>;

export const ManifestPage = z.object({
  pageId: Id,
  title: Text,
  revision: Count,
  parentId: NullableId,
  position: z.number().catch(0),
  /** Null if the page is for all audiences of the publication. */
  audience: MaybeId,
  checksum: MaybeId,
});
export type ManifestPage = z.infer<typeof ManifestPage>;

const PublicationRecord = z.object({
  publicationNumber: Count,
  baseRevisionNumber: lenient(Count),
  audiences: Words,
  note: Text,
  createdAt: Instant,
});

const Revision = z.object({ revisionNumber: Count, createdAt: Instant, description: Text });
const OneWorkspace = z.object({ workspace: Workspace });
const OneManual = z.object({ manual: Manual });
const OnePermission = z.object({ permission: Permission });
export const Summary = z.object({ pages: lenient(z.array(AnyRecord)) });

export const read = { section: 'B 4.1', scopes: ['instructions:read'] } as const;
const named = 'The envelopes and the records.';
export const base = '/instructions';
const ofWorkspace = `${base}/workspaces/{workspaceId}` as const;
const ofManual = `${base}/manuals/{manualId}` as const;

export const write = { scopes: ['instructions:write'], role: 'EDITOR' } as const;
export const keyed = { idempotency: 'header', status: 201 } as const;
const owned = { scopes: ['instructions:write'], role: 'OWNER' } as const;
const published = { scopes: ['instructions:publish'], role: 'OWNER' } as const;

export const instructions = family('instructions', { ...read })({
  capabilities: op(`GET ${base}/capabilities`, 'read what manuals may have', {
    out: z.object({
      schemaVersion: Anything,
      nodes: lenient(z.array(Anything)),
      marks: lenient(z.array(Anything)),
      attributes: lenient(Anything),
      ...fields(lenient(Words), 'patchOperations', 'audiences', 'formats'),
      limits: lenient(AnyRecord),
    }),
    assumed: 'The names of the fields.',
  }),
});

export const workspaces = family('workspaces', { ...read, assumed: named })({
  list: op(`GET ${base}/workspaces`, 'list the workspaces with manuals', listing('workspaces', Workspace)),
  create: op(`POST ${base}/workspaces`, 'create a workspace', {
    ...keyed,
    scopes: ['instructions:write'],
    in: z.object({ name: title }),
    out: OneWorkspace,
  }),
  get: op(`GET ${ofWorkspace}`, 'read a workspace', { out: OneWorkspace }),
  rename: op(`PATCH ${ofWorkspace}`, 'rename a workspace', {
    ...write,
    in: z.object({ name: title }),
    out: OneWorkspace,
  }),
  archive: op(`POST ${ofWorkspace}/archive`, 'archive a workspace', { ...owned, out: OneWorkspace, isFinal: true }),
});

export const permissions = family('permissions', { ...read, ...published, assumed: named })({
  list: op(`GET ${ofWorkspace}/permissions`, 'list who may use a workspace', {
    scopes: ['instructions:read', 'instructions:publish'],
    out: pageOf('permissions', Permission),
  }),
  grant: op(`POST ${ofWorkspace}/permissions`, 'let somebody use a workspace', {
    in: z.object({ principalId: id, role: z.enum(['EDITOR', 'REVIEWER', 'VIEWER']) }),
    out: OnePermission,
    refusals: [409],
  }),
  revoke: op(`POST ${ofWorkspace}/permissions/{principalId}/revoke`, 'take back the right to use a workspace', {
    out: OnePermission,
    isFinal: true,
    refusals: [409],
  }),
});

export const manuals = family('manuals', { ...read, assumed: named })({
  list: op(`GET ${ofWorkspace}/manuals`, 'list the manuals of a workspace', listing('manuals', Manual)),
  create: op(`POST ${ofWorkspace}/manuals`, 'create a manual', {
    ...write,
    ...keyed,
    in: z.object(manualFields).partial({ audience: true, bindings: true }),
    out: OneManual,
  }),
  get: op(`GET ${ofManual}`, 'read a manual', { out: OneManual }),
  update: op(`PATCH ${ofManual}`, 'update a manual', {
    ...write,
    in: z.strictObject(manualFields).partial(),
    out: OneManual,
  }),
  archive: op(`POST ${ofManual}/archive`, 'archive a manual', { ...owned, out: OneManual, isFinal: true }),
  tree: op(`GET ${ofManual}/tree`, 'read the pages of a manual', {
    out: z.object({ manualId: NullableId, revisionNumber: Amount, pages: z.array(TreePage) }),
  }),
  revisions: op(`GET ${ofManual}/revisions`, 'list the revisions of a manual', listing('revisions', Revision)),
  diff: op(`GET ${ofManual}/revisions/diff`, 'compare two revisions of a manual', {
    in: z.object({ a: z.int().min(1), b: z.int().min(1) }),
    out: Summary,
  }),
  restore: op(`POST ${ofManual}/revisions/{revisionNumber}/restore`, 'restore a revision of a manual', {
    ...write,
    idempotency: 'header',
    out: OneManual,
  }),
});

export const publications = family('publications', { ...read, assumed: named })({
  list: op(
    `GET ${ofManual}/publications`,
    'list the publications of a manual',
    listing('publications', PublicationRecord),
  ),
  create: op(`POST ${ofManual}/publications`, 'publish a manual', {
    ...published,
    ...keyed,
    in: z.object({ baseRevisionNumber: z.int().min(1), audiences: z.array(audience).min(1), note }),
    out: z.object({ publication: PublicationRecord }),
    refusals: [409],
  }),
  manifest: op(`GET ${ofManual}/publications/{publicationNumber}/manifest`, 'read the manifest of a publication', {
    in: z.object({ audience: audience.optional() }),
    out: z.object({ publicationNumber: Count, revisionNumber: lenient(Count), pages: z.array(ManifestPage).max(200) }),
  }),
});

export const pages = family('pages', { ...read, assumed: 'The record of a page.' })({
  get: op(`GET ${base}/pages/{pageId}`, 'read a page', {
    in: z.object({ revision: z.int().min(1).optional(), format: z.enum(['json', 'html', 'markdown']).optional() }),
    out: z.object({
      page: z.object({
        id: lenient(Id),
        pageId: lenient(Id),
        title: Text,
        revision: lenient(Count),
        checksum: MaybeId,
        content: Anything,
        html: lenient(z.string()),
        markdown: lenient(z.string()),
        lossReport: lenient(z.array(Anything)),
      }),
    }),
  }),
});
