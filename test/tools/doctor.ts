import { expect } from 'vitest';
import { createBridgeWorkspace } from '../support/bridge-workspace.ts';
import { openHttpFake } from '../support/http-fake.ts';
import { runCommand } from '../support/run-command.ts';

/** What `gangway doctor` says of a tool with these settings, as `status says → action`. */
export async function examineTool(settings: Record<string, string>): Promise<string[]> {
  const install = { token: 'ot_ptk_acme', webhookSecrets: ['whsec_c2VjcmV0LW9mLWFjbWU'] };
  const { configFile } = createBridgeWorkspace({
    installs: { acme: { ...install, tool: 'studio' } },
    tools: { studio: settings },
    // Nothing is asked about it, and one that does not answer at all would be waited for.
    marketplace: { baseUrl: await openPages() },
  });
  const { stdout, stderr } = await runCommand('doctor', '--config', configFile, '--json');
  for (const secret of [settings['token'], settings['password']]) {
    if (secret !== undefined) expect(stdout + stderr).not.toContain(secret);
  }
  const { checks } = JSON.parse(stdout) as { checks: Shown[] };
  return checks
    .filter(({ name }) => /^(tool studio|(removals in|returns to|settings of|server of|accounts in) studio)/.test(name))
    .map(({ status, says, action }) => [status, says, ...(action ? ['→', action] : [])].join(' '));
}

interface Shown {
  name: string;
  status: string;
  says: string;
  action: string | null;
}

/** Another server at the address, like the login of a proxy: it answers every request with a page. */
export async function openPages(): Promise<string> {
  const page = '<!doctype html><title>Log in</title>';
  return (await openHttpFake((_request, response) => void response.end(page))).url;
}
