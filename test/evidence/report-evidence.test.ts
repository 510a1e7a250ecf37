import { expect, it } from 'vitest';
import type { Adapter, AdapterLink } from '../../src/adapters/adapter.ts';
import { emptyEvidence, emptyLink } from '../../src/domain/evidence.ts';
import { createReportEvidence } from '../../src/evidence/report-evidence.ts';
import type { AlertKind } from '../../src/lib/alerts.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { createMemoryTool } from '../support/memory-tool.ts';

it.each<[string, string, [AlertKind, string | undefined][]]>([
  ['nothing of a link within its wall', 'signs', []],
  ['of one whose id may be resolved otherwise', 'a/../b', [['link_outside', 'strange_id']]],
  ['of one without a group', 'no-group', [['link_outside', 'no_group']]],
  ['of one without a work scope', 'no-scope', [['usage_unread', undefined]]],
])('an operator learns %s', (_, externalProjectId, expected) => {
  const throwFor = (project: string) => (link: AdapterLink) => {
    if (link.externalProjectId === project) throw new Error('s3cret');
    return link.externalProjectId;
  };
  const { adapter } = createMemoryTool();
  const reading: Adapter = {
    ...adapter,
    groupFor: throwFor('no-group'),
    usageScopeFor: throwFor('no-scope'),
    async *readUsage() {},
  };
  const raised: [AlertKind, string | undefined][] = [];
  const alerts = {
    raise(kind: AlertKind, fields: object) {
      expect(fields).toMatchObject({ install: 'acme', link: 'l1', tool: 'studio' });
      raised.push([kind, Reflect.get(fields, 'reason')]);
    },
  };
  const installs = new Map([['acme', { tool: 'studio', projects: ['*'] }]]);
  const report = createReportEvidence(
    { installs, adapters: new Map([['studio', reading]]) },
    alerts,
    createFakeClock(),
  );
  report({ ...emptyEvidence(), links: [{ ...emptyLink('acme', 'l1'), externalProjectId }] }, []);
  expect(raised).toEqual(expected);
});

it('an operator learns nothing of a link that is gone', () => {
  const installs = new Map([['acme', { tool: 'studio', projects: ['signs'] }]]);
  const walls = { installs, adapters: new Map([['studio', createMemoryTool().adapter]]) };
  const raised: string[] = [];
  const report = createReportEvidence(walls, { raise: (kind) => void raised.push(kind) }, createFakeClock());
  const outside = { ...emptyLink('acme', 'l1'), externalProjectId: 'cars' };
  report({ ...emptyEvidence(), links: [outside] }, []);
  report({ ...emptyEvidence(), links: [{ ...outside, removedEventAt: '2026-03-15T12:00:00.000Z' }] }, []);
  expect(raised).toEqual(['link_outside']);
});
