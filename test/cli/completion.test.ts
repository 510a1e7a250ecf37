import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFolder } from '../support/folder.ts';
import { runCommand } from '../support/run-command.ts';

/** Says for each line, of which the last word is half typed, what a shell would offer; `words` are those of a line. */
const askers = {
  bash: `source "$1"
while read -r line; do
  COMP_WORDS=($line); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); COMPREPLY=()
  _gangway; echo "\${COMPREPLY[*]}"
done`,
  // Its own completer shows what fits to a person. A stand-in prints what it was given.
  zsh: `compdef() { :; }; source "$1"
_describe() { local offer; for offer in $offers; do [[ \${offer%%:*} == $words[-1]* ]] && print -rn -- "\${offer%%:*} "; done; print; }
while read -r line; do words=(\${=line}); CURRENT=\${#words}; _gangway; done`,
  fish: 'source $argv[1]; while read -l line; printf "%s " (complete -C "$line" | string replace -r "\\t.*" ""); echo; end',
};

const lines = {
  'gangway pl': 'plans',
  'gangway plans app': 'approve',
  'gangway --config x.json usage im': 'import imports',
  'gangway members --st': '--state',
  'gangway members list --stat': '--state',
  'gangway backup --rem': '--remote',
  'gangway completion f': 'fish',
  'gangway zz': '',
};

describe.each(Object.keys(askers) as (keyof typeof askers)[])('completion of %s', (shell) => {
  it('offers commands, subcommands, options and choices', async ({ skip }) => {
    skip(spawnSync(shell, ['-c', 'exit']).status !== 0, `${shell} is not installed`);
    const { stdout: script } = await runCommand('completion', shell);
    const file = path.join(createFolder(), 'script');
    writeFileSync(file, script);
    const run = shell === 'fish' ? ['-c', askers.fish, file] : ['-c', askers[shell], shell, file];
    const input = Object.keys(lines).join('\n').concat('\n');
    const { stdout, stderr } = spawnSync(shell, run, { encoding: 'utf8', input });
    expect(stderr).toBe('');
    const offered = stdout.split('\n').map((line) => line.split(' ').filter(Boolean).sort().join(' '));
    expect(offered.slice(0, -1)).toEqual(Object.values(lines));
  });
});

it('completion is refused for another shell', async () => {
  const { status, stderr } = await runCommand('completion', 'tcsh');
  expect({ status, stderr }).toEqual({ status: 64, stderr: expect.stringContaining('bash, zsh, fish') });
});
