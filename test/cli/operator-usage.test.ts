import { describe, expect, it } from 'vitest';
import { createBridgeWorkspace } from '../support/bridge-workspace.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { runCommand } from '../support/run-command.ts';

describe('how the commands of an operator are used', { timeout: 20_000 }, () => {
  it.each([
    ['status', ['--since <duration>', '--json']],
    ['doctor', ['--rehearse', '--tool <name>', '--group <id>', '--email-domain <domain>', '--json']],
    ['explain', ['<person|contract>', '--json']],
    ['plans list', ['--install <name>', '--state <state>', '--all', '--json']],
    ['plans show', ['<plan>', '--json']],
    ['drift', ['--tool <name>', '--group <id>', '--limit <count>', '--json']],
    ['plans approve', ['<plan>', '--only <membership>', '--without-reading', '--wait <duration>', '--json']],
    ['plans reject', ['<plan>', '--only <membership>', '--json']],
    ['contracts end-at-marketplace', ['<contract>', '--install <name>', '--confirm <contract>', '--leave', '--json']],
    ['retire', ['--install <name>', '--tool <name>', '--all', '--yes', '--json']],
    ['members adopt', ['[membership]', '--undecided', '--tool <name>', '--account', '--address <address>', '--json']],
    ['members release', ['[membership]', '--undecided', '--tool <name>', '--doubted', '--json']],
  ])('%s --help mentions all it takes', async (words, options) => {
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
    [['explain'], "missing required argument 'person|contract'"],
    [['plans', 'list', '--state', 'gone'], 'one of: open, approved, rejected'],
    [['plans', 'show', '0'], 'a whole number from 1'],
    [['reconcile', '--wait', 'long'], '--wait must be a duration such as 30s, at most 100s'],
    [['plans', 'approve', '1', '--wait', 'x'], 'a duration such as 30s, 5m, 24h or 7d'],
    [['plans', 'approve'], "missing required argument 'plan'"],
    [['contracts', 'list', '--status', 'gone'], '--status must be one of: unknown, active, disputed'],
    [['contracts', 'list', '--limit', '0'], '--limit must be at least 1'],
    [['contracts', 'end'], "missing required argument 'contract'"],
    [['retire'], 'name them with --install or --tool, or use --all'],
    [['retire', '--yes'], 'name them with --install or --tool, or use --all'],
    [['members', 'adopt', 'x'], 'a whole number from 1'],
  ])('%j is used wrongly', async (argv, said) => {
    const { configFile } = createBridgeWorkspace();
    const { status, stdout, stderr } = await runCommand(...argv, '--config', configFile);
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' });
    expect(stderr).toContain(said);
  });

  it.each([
    ['plans list --install none', 64],
    ['contracts list --install none', 1],
    ['deliveries list --install none', 1],
    ['usage imports --install none', 64],
    ['usage report --install none', 64],
    ['reconcile --install none', 1],
    ['links list --install none', 1],
    ['endpoint status none', 1],
    ['installs remove none', 1],
    ['retire --install none', 64],
    ['retire --tool none', 64],
    ['members --tool none', 64],
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
    ['usage report --dry-run --contract none', 1],
    ['usage show none', 1],
    ['usage held none --discard', 1],
    ['usage import --undo 99', 1],
    ['explain none', 1],
    ['forget none --dry-run', 1],
  ])('%s ends with %i and a word about it: there is none', async (words, expected) => {
    const workspace = createBridgeWorkspace();
    await workspace.receive(fullEvent({ type: 'contract.started' }));
    const { status, stdout, stderr } = await runCommand(...words.split(' '), ...['--config', workspace.configFile]);
    expect({ words, status }).toEqual({ words, status: expected });
    const said = words.startsWith('doctor') ? stdout : stderr;
    expect(said).toMatch(/none|99|such a person/);
  });
});
