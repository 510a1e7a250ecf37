import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import type { Adapter, Person } from '../../../src/adapters/adapter.ts';
import { createRosterAdapter } from '../../../src/adapters/roster/roster-adapter.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { stripBom } from '../../../src/lib/text.ts';
import type { Mutator } from '../mutator.ts';
import type { Target } from '../target.ts';

const address = 'amara.o@opentrain.work';
const amara = { id: 'cmu1', email: address, displayName: 'Amara O.', status: 'active', team: 'night' };
const bruno = { id: 'cmu2', email: 'bruno.s@opentrain.work', displayName: '', status: 'active' };
const rosters: readonly object[] = [
  { groups: { 'street-signs': [amara, bruno], faces: [bruno] }, madeBy: 'a script' },
  { groups: {} },
  { groups: { toString: [amara], constructor: [] }, members: [] },
];
const texts = [
  ...rosters.map((roster) => JSON.stringify(roster)),
  `{"groups":{"__proto__":[${JSON.stringify(amara)}]}}`,
];
const newcomer: Person = { trainerId: 'cmu3', email: 'chiara.m@opentrain.work', displayName: null, memberId: null };

/** A file that other programs write too. Whatever it contains, nothing is lost and no error quotes an address. */
export const rosterFiles: Target = {
  name: 'roster files',
  inputs: { long: 20_000, short: 150 },
  reaches: ['a roster', 'refused'],
  open() {
    const folder = mkdtempSync(path.join(tmpdir(), 'gangway-roster-'));
    const file = path.join(folder, 'roster.json');
    const adapter = createRosterAdapter({ path: file });
    return {
      judge: (chance) => judgeRoster(chance, adapter, file),
      close: () => rmSync(folder, { recursive: true }),
    };
  },
};

async function judgeRoster(chance: Mutator, adapter: Adapter, file: string): Promise<string> {
  const valid = chance.pick(texts);
  const written = chance.oneIn(2) ? chance.bytes(Buffer.from(valid)) : Buffer.from(chance.text(valid));
  writeFileSync(file, written);
  const { signal } = new AbortController();
  const group = chance.pick(['street-signs', '__proto__', 'constructor', '']);
  try {
    await adapter.addMember(group, newcomer, signal);
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 'invalid', inspect(error));
    assert.doesNotMatch(inspect(error, { depth: 9 }), /opentrain\.work/);
    assert.deepEqual(readFileSync(file), written);
    assert.deepEqual(readdirSync(path.dirname(file)), [path.basename(file)]);
    return 'refused';
  }
  assert.equal((await adapter.findMember(group, newcomer, signal))?.id, newcomer.trainerId);
  // Windows editors begin files with a byte order mark, which Gangway accepts.
  const [before, after] = [written, readFileSync(file)].map((bytes) => JSON.parse(stripBom(bytes.toString())));
  const people = (groups: object) => Object.entries(groups).map(([name, members]) => [name, [...members]] as const);
  const left = new Map(people(after.groups));
  for (const [name, members] of people(before.groups)) {
    const others = (all: readonly { id: string }[] = []) => all.filter(({ id }) => id !== newcomer.trainerId);
    assert.deepEqual(others(left.get(name)), others(members));
  }
  assert.deepEqual({ ...after, groups: null }, { ...before, groups: null });
  return 'a roster';
}
