import { describe, expect, it } from 'vitest';
import { platformEventTypes as eventTypes } from '../../src/domain/event.ts';
import { createPlatformSource, type PlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import { openWorld, type World } from '../sandbox/sandbox-harness.ts';
import { refused, useBridge } from './bridge.ts';

const { signal } = new AbortController();
const publicUrl = 'http://127.0.0.1:9';
const url = `${publicUrl}/webhooks/acme`;

describe('gangway endpoint', { timeout: 30_000 }, () => {
  let world: World;
  let api: PlatformSource;

  /** Only one endpoint may exist. A rotation usually needs two at the same time for some seconds. */
  const workspace = useBridge(async () => {
    world = await openWorld({ endpointsPerInstall: 1 });
    const { baseUrl, token } = world;
    api = createPlatformSource({ baseUrl, token });
    return configWith({});
  });
  const run = (...argv: string[]) => workspace.run('endpoint', ...argv);

  function configWith(changes: { receiver?: object; installs?: object }) {
    const { baseUrl, token } = world;
    const acme = { token, webhookSecrets: ['whsec_of_the_configuration'], tool: 'list', projects: ['*'] };
    return {
      receiver: { host: '127.0.0.1', port: 0, drain: '0s', publicUrl, ...changes.receiver },
      marketplace: { baseUrl },
      installs: { acme, ...changes.installs },
    };
  }

  const configure = (changes: Parameters<typeof configWith>[0]) => workspace.open(configWith(changes));

  async function runJson(...argv: string[]) {
    const { status, stdout, stderr } = await run(...argv, '--json');
    return { status, stderr, said: JSON.parse(stdout) as object };
  }

  const subscribe = async (types: readonly string[] = eventTypes) =>
    (await api.createEndpoint({ url, eventTypes: types }, signal)).endpoint.id;

  async function failTen(): Promise<void> {
    await world.link('signs');
    await world.hire(9);
  }

  it('shows the state of the endpoint, and what to do', async () => {
    const endpointId = await subscribe(['project_link.created', 'contract.started']);
    await failTen();
    const missing = eventTypes.filter((type) => type !== 'project_link.created' && type !== 'contract.started');
    const state = { status: 'DISABLED', consecutiveFailures: 10, missingEventTypes: missing };
    const unchecked = { checkedAt: null, trouble: null, action: null, failure: null };
    const said = { endpoints: [{ install: 'acme', endpointId, url, ...state, ...unchecked }] };
    expect(await runJson('status')).toEqual({ status: 0, stderr: '', said });
    await api.updateEndpoint(endpointId, { url: 'http://127.0.0.1:10/' }, signal);
    const { stdout } = await run('status', 'acme');
    expect(stdout).toMatch(/^install +acme\n/);
    expect(stdout).toContain('! acme has no webhook endpoint at the marketplace\n');
    expect(stdout).toContain('→ Create one: gangway connect acme\n');
  });

  it('says why an install cannot be asked, and fails', async () => {
    configure({ installs: { globex: { token: 'wrong', tool: 'list', projects: ['none'] } } });
    const { status, said } = await runJson('status');
    expect(status).toBe(1);
    expect(said).toMatchObject({
      endpoints: [
        { install: 'acme', endpointId: null, failure: null },
        { install: 'globex', failure: expect.stringContaining('answered 401') },
      ],
    });
  });

  it('rotates, and says what is left to do', async () => {
    const before = await subscribe();
    const { status, stdout, stderr } = await run('rotate');
    const [after] = await api.listEndpoints(signal);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toBe(
      [
        `acme has the webhook endpoint ${after?.id} instead of ${before}.`,
        'The marketplace had no room for two, so there was a gap: the install is read again.',
        'Remove installs.acme.webhookSecrets from the configuration.\n',
      ].join('\n'),
    );
    expect((await runJson('rotate', 'acme')).said).toMatchObject({
      install: 'acme',
      replaced: [after?.id],
      hadGap: true,
      hasConfiguredSecrets: true,
    });
  });

  it('redelivers what failed, or a named delivery', async () => {
    const endpointId = await subscribe();
    await failTen();
    expect(await runJson('redeliver')).toEqual({
      status: 0,
      stderr: '',
      said: { install: 'acme', endpointId, status: 'DISABLED', requeued: 10 },
    });
    await api.updateEndpoint(endpointId, { status: 'ACTIVE' }, signal);
    const [delivery] = world.sandbox.listDeliveries();
    const { stdout } = await run('redeliver', 'acme', '--delivery', delivery?.id ?? '');
    expect(stdout).toBe('1 will be sent again within five minutes.\n');
    expect(await run('redeliver', '--delivery', 'none')).toMatchObject(refused('404'));
  });

  it('redelivers without a public address if there is only one endpoint', async () => {
    await subscribe();
    configure({ receiver: { publicUrl: undefined } });
    expect(await runJson('redeliver')).toMatchObject({ status: 0, said: { requeued: 0 } });
    expect(await run('rotate')).toMatchObject(refused('receiver.publicUrl is not configured'));
  });

  it('is used wrongly without a name if there are several, and with an unknown name', async () => {
    expect(await run('rotate', 'initech')).toMatchObject(refused('there are: acme'));
    configure({ installs: { globex: { token: 'wrong', tool: 'list', projects: ['none'] } } });
    expect(await run('redeliver')).toMatchObject(refused('name the install', 64));
  });
});
