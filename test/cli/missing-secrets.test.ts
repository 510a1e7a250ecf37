import { describe, expect, it } from 'vitest';
import { useBridge } from './bridge.ts';

const unset = (name: string) => ({ env: `UNSET_${name}` });
const cvat = { adapter: 'cvat', organization: 'acme' };
const tool = 'tools.list.token: the variable UNSET_LIST is not set';
const otherTool = 'tools.other.token: the variable UNSET_OTHER is not set';
const install = 'installs.acme.token: the variable UNSET_ACME is not set';
const otherInstall = 'installs.beta.token: the variable UNSET_BETA is not set';
const channel = 'notifications.channels.ops.url: the variable UNSET_SLACK is not set';
const others = [
  'console.token: the variable UNSET_METRICS is not set',
  'console.tokens.ada.token: the variable UNSET_ADA is not set',
  'installs.acme.webhookSecrets[0]: the variable UNSET_SIGNING is not set',
  'mail.smtp: the variable UNSET_SMTP is not set',
  'notifications.channels.signed.secret: the variable UNSET_CHANNEL is not set',
];
const all = [tool, otherTool, install, otherInstall, channel, ...others].sort();

describe('a second terminal, where no variable of the configuration is set', () => {
  const workspace = useBridge(() => ({
    console: { token: unset('METRICS'), tokens: { ada: { token: unset('ADA'), role: 'viewer' } } },
    installs: {
      acme: { token: unset('ACME'), webhookSecrets: [unset('SIGNING')], tool: 'list' },
      beta: { token: unset('BETA'), tool: 'other' },
    },
    tools: {
      list: { ...cvat, url: 'http://127.0.0.1:9', token: unset('LIST') },
      other: { ...cvat, url: 'http://127.0.0.1:9', token: unset('OTHER') },
    },
    mail: { smtp: unset('SMTP'), from: 'ops@example.com' },
    notifications: {
      channels: {
        ops: { type: 'slack', url: unset('SLACK') },
        signed: { type: 'webhook', url: 'https://example.com', secret: unset('CHANNEL') },
      },
    },
  }));

  const run = (command: string) => workspace.run(...command.split(' '));

  async function missingFor(command: string): Promise<string[]> {
    const { status, stdout, stderr } = await run(command);
    expect(status).not.toBe(0);
    const lines = `${stdout}${stderr}`.matchAll(/[\w.[\]]+: the variable \w+ is not set/g);
    return [...lines].map(([line]) => line).sort();
  }

  it('shows status, members, plans and explanations although the token of a colleague is not set', async () => {
    await run('migrate');
    for (const command of ['status', 'members', 'plans list', 'installs list', 'usage held', 'key show']) {
      expect([command, await run(command)]).toMatchObject([command, { status: 0, stderr: '' }]);
    }
    expect((await run('explain cmu1')).stderr).not.toContain('is not set');
  });

  it('lists all missing variables at once with start and doctor', async () => {
    for (const command of ['start', 'doctor']) expect(await missingFor(command)).toEqual(all);
  });

  it.each([
    ['tools accept other', [otherTool, install, otherInstall]],
    ['adapter test --tool list --group 1 --yes', [tool]],
    ['endpoint status acme', [install]],
    ['marketplace contracts end cmc1 --install beta --yes', [otherInstall]],
    ['links list', [install, otherInstall]],
    ['notifications test --channel ops', [channel, 'mail.smtp: the variable UNSET_SMTP is not set']],
    ['reconcile', [tool, otherTool, install, otherInstall]],
  ])('lists with "%s" only the missing variables that the command uses', async (command, lines) => {
    expect(await missingFor(command)).toEqual([...lines].sort());
  });
});
