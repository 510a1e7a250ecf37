import { Router } from 'express';
import { html } from 'hono/html';
import { createAssets, securityHeaders, send } from './layout.ts';

const tokens = { admin: { token: { env: 'ADMIN_CONSOLE_TOKEN' }, role: 'operator' } };
const example = JSON.stringify({ console: { tokens } }, null, 2);

const body = html`<p>Nobody can sign in, because the configuration has no <code>console.tokens</code>.</p>
  <ul>
    <li><code>gangway init</code> writes a new configuration with a token.</li>
    <li>
      In an existing configuration, add a token of at least 20 characters for each person
      (<code>openssl rand -hex 32</code> makes one), and restart Gangway:
      <pre>${example}</pre>
    </li>
  </ul>`;

/** Answers when no token is configured: a page to browsers, JSON to programs. */
export function createConsoleOff(): Router {
  const router = Router();
  router.use(securityHeaders);
  router.use(createAssets());
  router.use(async (request, response) => {
    response.set({ 'Cache-Control': 'no-store', Vary: 'Accept' });
    const page = { title: 'The console is off', body, status: 404 };
    if (request.accepts(['json', 'html']) === 'html')
      return await send(response, page, { path: '/', session: undefined });
    const error = 'The console is off. Add console.tokens to the configuration and restart.';
    response.status(404).json({ error, code: 'not_found' });
  });
  return router;
}
