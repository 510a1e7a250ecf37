import assert from 'node:assert/strict';
import type { Adapter } from '../../../src/adapters/adapter.ts';
import { toId } from '../../../src/domain/marketplace-text.ts';
import { crossingOf } from '../../../src/memberships/wall.ts';
import type { Mutator } from '../mutator.ts';
import type { Target } from '../target.ts';

const ids = ['acme-street-signs', 'acme-', 'Straße 7', 'café', '42', 'İzmir', 'acme', 'beta-lamps'];

export const projectIds: Target = {
  name: 'project ids at the wall',
  inputs: { long: 250_000, short: 1000 },
  reaches: ['inside', 'strange_id', 'anothers', 'not_named', 'no_group'],
  open: () => ({ judge }),
};

function judge(chance: Mutator): string {
  const id = chance.oneIn(3) ? chance.pick(ids) : chance.text(chance.pick(ids));
  const [own, others] = [makePatterns(chance), makePatterns(chance)];
  const adapter = makeAdapter(chance);
  const installs = new Map([
    ['acme', { tool: 'studio', projects: own }],
    ['beta', { tool: 'studio', projects: others }],
    ['elsewhere', { tool: 'another', projects: ['*', id] }],
  ]);
  const link = { install: 'acme', externalProjectId: id, externalProjectName: null };
  const crossing = crossingOf({ installs, adapters: new Map([['studio', adapter]]) }, link);
  if (crossing === null) checkInside({ id, own, others, adapter });
  // Only texts that could be ids of the marketplace may pass.
  assert.ok(crossing !== null || adapter.canonicalGroup !== undefined || toId(id) === id || id.length > 200);
  return crossing ?? 'inside';
}

function makePatterns(chance: Mutator): string[] {
  const make = () => {
    const id = chance.oneIn(3) ? chance.text(chance.pick(ids)) : chance.pick(ids);
    const cased = chance.oneIn(5) ? id.toUpperCase() : id;
    return chance.oneIn(2) ? cased : `${cased.slice(0, chance.below(8))}*`;
  };
  return Array.from({ length: chance.below(4) }, make);
}

/** Stands for third-party code, which may return anything. */
function makeAdapter(chance: Mutator): Adapter {
  const odd = [null, undefined, 7, {}, '', ['x']];
  const throws = () => {
    throw new TypeError('not now');
  };
  const answers = (id: string) => chance.pick([() => id, () => id, () => id.trim(), () => chance.pick(odd), throws])();
  const groupFor = chance.oneIn(5)
    ? ({ externalProjectId }: { externalProjectId: string }) => answers(externalProjectId)
    : () => 'g';
  return { groupFor, ...(chance.oneIn(3) && { canonicalGroup: answers }) } as unknown as Adapter;
}

interface Inside {
  id: string;
  own: readonly string[];
  others: readonly string[];
  adapter: Adapter;
}

function checkInside({ id, own, others, adapter }: Inside): void {
  assert.ok(
    own.some((pattern) => isMeant(pattern, id)),
    `${JSON.stringify(id)} is in none of ${JSON.stringify(own)}`,
  );
  const isWhole = own.includes(id) && !id.endsWith('*');
  const theirs = others.filter((one) => !one.endsWith('*')).map(simplify);
  assert.ok(isWhole || !theirs.includes(simplify(id)), `${JSON.stringify(id)} is of ${JSON.stringify(others)}`);
  if (adapter.canonicalGroup !== undefined) return;
  for (const form of [id, id.normalize('NFC'), id.normalize('NFKC'), id.normalize('NFKD')]) {
    assert.ok(form.trim() === form && form !== '', JSON.stringify(id));
    assert.ok(form !== '.' && form !== '..', JSON.stringify(id));
    assert.ok([...form].every((letter) => !'/\\%'.includes(letter) && (letter.codePointAt(0) ?? 0) > 31));
  }
}

function isMeant(pattern: string, id: string): boolean {
  return pattern.endsWith('*') ? id.startsWith(pattern.slice(0, -1)) : id === pattern;
}

/** Ids that differ only in case or Unicode form are the same project for many tools. */
function simplify(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
