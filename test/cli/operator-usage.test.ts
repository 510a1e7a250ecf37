import { describe, expect, it } from 'vitest';
import { createBridgeWorkspace } from '../support/bridge-workspace.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { runCommand } from '../support/run-command.ts';

describe('the commands of an operator', { timeout: 20_000 }, () => {
  it.each([
    ['doctor', ['--rehearse', '--tool <name>', '--group <id>', '--email-domain <domain>', '--upgrade', '--json']],
  ])('%s --help mentions every option', async (words, options) => {
    const { status, stdout } = await runCommand(...words.split(' '), '--help');
    expect(status).toBe(0);
    const mentioned = [...stdout.matchAll(/^Usage:.*? (<[a-z|]+>|\[(?!options)[a-z]+\])$|^ {2}(--\S+(?: <\S+>)?)/gm)];
    expect(mentioned.map(([, argument, option]) => argument ?? option)).toEqual(options);
  });

  it.each([
    [['status', '--since', '5x'], 'a duration such as 30s, 5m, 24h or 7d'],
    [['status', '--since', '-1h'], 'a duration such as 30s, 5m, 24h or 7d'],
    [['status', '--since', '1.5h'], 'a duration such as 30s, 5m, 24h or 7d'],
    [['status', '--since', ''], 'a duration such as 30s, 5m, 24h or 7d'],
    [['explain'], "missing required argument 'subject'"],
    [['plans', 'list', '--state', 'gone'], '--state must be one of: open, approved, rejected'],
    [['plans', 'show', '0'], '<plan> must be at least 1'],
    [['plans', 'approve', '1', '--wait', 'x'], '--wait must be a duration such as 30s, at most 100s'],
    [['plans', 'approve', '1', '--wait', '2m'], '--wait must be a duration such as 30s, at most 100s'],
    [['reconcile', '--wait', 'long'], '--wait must be a duration such as 30s, at most 100s'],
    [['plans', 'approve'], "missing required argument 'plan'"],
    [['contracts', 'list', '--status', 'gone'], '--status must be one of: unknown, active, disputed'],
    [['contracts', 'list', '--limit', '0'], '--limit must be at least 1'],
    [['contracts', 'end'], "missing required argument 'contract'"],
    [['retire'], 'one of these is required: --install, --tool, --all'],
    [['retire', '--yes'], 'one of these is required: --install, --tool, --all'],
    [['members', 'adopt', 'x'], '<membership> must be a number'],
    [['members', 'adopt'], 'one of these is required: <membership>, --undecided'],
    [['members', 'release', '1', '--undecided'], 'cannot be given'],
  ])('%j is used wrongly', async (argv, said) => {
    const { configFile } = createBridgeWorkspace();
    const { status, stdout, stderr } = await runCommand(...argv, '--config', configFile);
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' });
    expect(stderr).toContain(said);
  });

  it.each([
    ['plans list --install none', 1],
    ['contracts list --install none', 1],
    ['deliveries list --install none', 1],
    ['usage imports --install none', 1],
    ['usage report --install none', 1],
    ['reconcile --install none', 1],
    ['links list --install none', 1],
    ['endpoint status none', 1],
    ['installs remove none', 1],
    ['retire --install none', 1],
    ['retire --tool none', 1],
    ['members --tool none', 1],
    ['doctor --rehearse --tool none --group 1', 1],
    ['adapter test --tool none --group 1 --yes', 1],
    ['plans show 99', 1],
    ['plans approve 99', 1],
    ['plans reject 99', 1],
    ['members adopt 99', 1],
    ['members renew 99', 1],
    ['contracts end none', 1],
    ['deliveries replay 1 99', 1],
    ['usage report --contract none', 1],
    ['usage preview --contract none', 1],
    ['usage show none', 1],
    ['usage discard 0123456789ab', 1],
    ['usage undo 99', 1],
    ['explain none', 1],
    ['forget none', 1],
  ])('%s ends with %i, because there is none', async (words, expected) => {
    const workspace = createBridgeWorkspace();
    await workspace.receive(fullEvent({ type: 'contract.started' }));
    const { status, stdout, stderr } = await runCommand(...words.split(' '), ...['--config', workspace.configFile]);
    expect({ words, status }).toEqual({ words, status: expected });
    const said = words.startsWith('doctor') ? stdout : stderr;
    expect(said).toMatch(/none|99|0123456789ab/);
  });
});
