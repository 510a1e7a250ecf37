import { z } from 'zod';
import { rotateToken } from '../installs/rotate-token.ts';
import { act, group, read } from './operation.ts';
import { askEach, pickInstalls, sayUnread, unread } from './pick-installs.ts';
import { type Columns, fieldColumns, table } from './show.ts';
import { maybeInstant, maybeText, named, ofInstall, text, theInstall } from './values.ts';

/** The tokens of your own accounts. */

const Token = named('Token', {
  install: z.string(),
  id: z.string(),
  name: maybeText,
  scopes: z.array(z.string()),
  status: z.enum(['active', 'expired', 'revoked']),
  createdAt: maybeInstant,
  lastUsedAt: maybeInstant,
  expiresAt: maybeInstant,
  isUsed: z.boolean().describe('Whether Gangway reads the install with it.'),
});

const columns: Columns<z.output<typeof Token>> = [
  ...fieldColumns('install', 'name'),
  ['token', ({ id }) => id],
  ['status', ({ status, isUsed }) => (isUsed ? `${status}, in use here` : status)],
  ['expires', ({ expiresAt }) => expiresAt ?? 'never'],
  ['last used', ({ lastUsedAt }) => lastUsedAt],
  ['scopes', ({ scopes }) => scopes.join(' ')],
];

export const operations = group('token', {
  list: read('GET /tokens', 'List the tokens of your own accounts as the marketplace has them now', {
    asks: 'marketplace',
    args: ['install'],
    in: z.strictObject({ install: ofInstall }),
    out: z.object({ tokens: z.array(Token), unread }),
    async run({ install: named }, ctx, { signal }) {
      const { found: tokens, unread } = await askEach(pickInstalls(ctx, named), signal, async (install) => {
        const source = ctx.sources.get(install);
        if (source?.listTokens === undefined) return [];
        const { token: used } = await source.readGrant(signal);
        const listed = await source.listTokens(signal);
        return listed.map((one) => ({ install, ...one, isUsed: one.id === used?.id }));
      });
      return { tokens, unread };
    },
    show: table(columns, 'No install is an account of your own.', 'tokens'),
    problems: sayUnread,
  }),
  rotate: act(
    'POST /installs/{install}/token/rotate',
    'Replace the token of your own account by one with only the needed scopes, then revoke the old one',
    {
      asks: 'marketplace',
      args: ['install'],
      in: z.strictObject({
        install: theInstall,
        keep: z
          .array(text)
          .default([])
          .describe('A scope of the old token to keep beside the needed ones, such as payments:write; repeatable.'),
      }),
      out: z.object({
        install: z.string(),
        tokenId: z.string(),
        scopes: z.array(z.string()),
        expiresAt: maybeInstant,
        replacedId: z.string().describe('The old token, which is revoked.'),
      }),
      run: async ({ install, keep }, ctx, { by, signal }) => ({
        install,
        ...(await rotateToken(ctx, ctx.registry, install, { keep, by }, signal)),
      }),
      show({ install, tokenId, scopes, expiresAt, replacedId }) {
        const expiry = expiresAt === null ? 'never expires' : `expires at ${expiresAt}`;
        return `${install} uses the token ${tokenId}: ${scopes.join(', ')}; it ${expiry}. The old token ${replacedId} is revoked.`;
      },
    },
  ),
});
