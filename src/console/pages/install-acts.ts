import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import { sourceOf } from '../../installs/subscription/look-at-subscription.ts';
import { rotateToken } from '../../installs/tokens/rotate-token.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { syncGuidelines } from '../../operator/guidelines/sync-guidelines.ts';
import { addLink, findLink, removeLink } from '../../operator/links/change-links.ts';
import { removeInstall } from '../../operator/remove-install.ts';
import { rotateSecret } from '../../operator/rotate-secret.ts';
import { wantRead } from '../../operator/want-read.ts';
import { type Act, type Asked, formOf, type Html, type Page, type Redirect, type View } from '../page.ts';
import { findInstall, pathOf } from './install-page.ts';

/** What can be done to an install. What takes something away is asked for on a page that says what will happen. */
export const installActViews: readonly View[] = [
  { path: '/installs/:name/unlink/:link', show: askUnlink },
  { path: '/installs/:name/rotate', show: askRotate },
  { path: '/installs/:name/token', show: askRotateToken },
  { path: '/installs/:name/remove', show: askRemove },
];

export const installActs: readonly Act[] = [
  { path: '/installs/:name/read', act: read },
  { path: '/installs/:name/guidelines', act: syncGuidelinesOf },
  { path: '/installs/:name/link', act: link },
  { path: '/installs/:name/unlink/:link', act: unlink },
  { path: '/installs/:name/rotate', act: rotate },
  { path: '/installs/:name/token', act: renewToken },
  { path: '/installs/:name/remove', act: remove },
];

const patience = () => AbortSignal.timeout(120_000);

async function read(asked: Asked, ctx: OperationContext): Promise<Redirect> {
  const { name } = findInstall(asked, ctx);
  await wantRead(ctx, asked.by, [name]);
  return { redirect: pathOf(name) };
}

/** What came of it stands on the page of the install. */
async function syncGuidelinesOf(asked: Asked, ctx: OperationContext): Promise<Redirect> {
  const { name } = findInstall(asked, ctx);
  const wish = { project: undefined, overwrites: asked.form.get('overwrite') === 'on', by: asked.by };
  const { unread } = await syncGuidelines(ctx, [name], wish, patience());
  const [failed] = unread;
  if (failed !== undefined) throw new AppError('conflict', failed.failure);
  return { redirect: pathOf(name) };
}

async function link(asked: Asked, ctx: OperationContext): Promise<Redirect> {
  const { name } = findInstall(asked, ctx);
  const [externalProjectId, jobId] = ['project', 'job'].map((field) => asked.form.get(field)?.trim() ?? '');
  if (!externalProjectId || !jobId) throw new AppError('invalid', 'A link needs a project and a job');
  const api = sourceOf(ctx, name);
  await addLink(ctx, asked.by, api, name, { externalProjectId, jobId }, patience());
  return { redirect: pathOf(name) };
}

function askUnlink(asked: Asked, ctx: OperationContext): Page {
  const { name } = findInstall(asked, ctx);
  const says = html`The link ${asked.params['link']} of ${name} is removed for good at the marketplace. Trainers who are
  in the project only by it are removed after the grace period, unless the project is linked again.`;
  return askPage(asked, 'Remove a link', says, 'Remove the link', name);
}

async function unlink(asked: Asked, ctx: OperationContext): Promise<Redirect> {
  const { name } = findInstall(asked, ctx);
  const api = sourceOf(ctx, name);
  const found = await findLink(api, asked.params['link'] ?? '', patience());
  await removeLink(ctx, asked.by, api, name, found, patience());
  return { redirect: pathOf(name) };
}

function askRotate(asked: Asked, ctx: OperationContext): Page {
  const { name } = findInstall(asked, ctx);
  const says = html`A new webhook endpoint of ${name} is made at the marketplace, and the old one is deleted. Both
  deliver for some seconds, so this takes about ten seconds.`;
  return askPage(asked, 'Give the webhook endpoint a new secret', says, 'Rotate the secret', name);
}

async function rotate(asked: Asked, ctx: OperationContext): Promise<Redirect> {
  const { name } = findInstall(asked, ctx);
  await rotateSecret(ctx, asked.by, name, patience());
  return { redirect: pathOf(name) };
}

function askRotateToken(asked: Asked, ctx: OperationContext): Page {
  const { name } = findInstall(asked, ctx);
  const says = html`A new token of the account of ${name} is made, with only the scopes that are needed. It is used at
  once, by every install that has the same token, and the old one is revoked. Programs of your own that use the old
  token too stop working then.`;
  const keep = html`<p><label>Scopes to keep beside those <input name="keep" placeholder="payments:write" /></label></p>`;
  return askPage(asked, 'Rotate the token', says, 'Rotate the token', name, keep);
}

async function renewToken(asked: Asked, ctx: OperationContext): Promise<Redirect> {
  const { name } = findInstall(asked, ctx);
  const keep = (asked.form.get('keep') ?? '').split(/[\s,]+/).filter((scope) => scope !== '');
  await rotateToken(ctx, ctx.registry, name, { keep, by: asked.by }, patience());
  return { redirect: pathOf(name) };
}

function askRemove(asked: Asked, ctx: OperationContext): Page {
  const { name } = findInstall(asked, ctx);
  const says = html`Gangway forgets ${name}, with its token and its secrets. No member is removed from a tool. Where
  people are in a tool by it, this is refused, unless you accept that they are orphaned.`;
  const accept = html`<p>
    <label><input type="checkbox" name="acceptOrphans" /> Keep its people in the tool as orphans</label>
  </p>`;
  return askPage(asked, `Remove ${name}`, says, 'Remove the install', name, accept);
}

async function remove(asked: Asked, ctx: OperationContext): Promise<Redirect> {
  const { name } = findInstall(asked, ctx);
  await removeInstall(ctx, asked.by, name, asked.form.has('acceptOrphans'));
  await ctx.registry.load();
  ctx.reports.delete(`connect ${name}`);
  return { redirect: '/installs' };
}

function askPage(
  asked: Asked,
  title: string,
  says: Html,
  button: string,
  name: string,
  more: Html | string = '',
): Page {
  return {
    title,
    body: html`<p>${says}</p>
      ${formOf(asked, asked.path, html`${more}<button class="danger">${button}</button>`)}
      <p><a href="${pathOf(name)}">Back to ${name}</a></p>`,
  };
}
