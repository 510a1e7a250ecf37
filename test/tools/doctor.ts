import { expect } from 'vitest';
import { createBridgeWorkspace } from '../support/bridge-workspace.ts';
import { openHttpFake } from '../support/http-fake.ts';
import { runCommand } from '../support/run-command.ts';

/** `status says → action` of everything that `gangway doctor` says of a tool with these settings. */
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

/** Something else at the address, as a proxy's login is: a page whatever is asked for. */
export async function openPages(): Promise<string> {
  const page = '<!doctype html><title>Log in</title>';
  return (await openHttpFake((_request, response) => void response.end(page))).url;
}
