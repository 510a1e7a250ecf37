import { expect, it } from 'vitest';
import type { Adapter, AdapterLink } from '../../src/adapters/adapter.ts';
import { emptyEvidence, emptyLink } from '../../src/domain/evidence.ts';
import { reportEvidence } from '../../src/evidence/report-evidence.ts';
import type { AlertKind } from '../../src/lib/alerts.ts';
import { createTestContext, inStudio } from '../support/engine-harness.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';

describeAnyDatabase('an operator', (openFresh) => {
  it.each<[string, string, [AlertKind, string | undefined][]]>([
    ['nothing of a link within its wall', 'signs', []],
    ['of one whose id may be resolved otherwise', 'a/../b', [['link_outside', 'strange_id']]],
    ['of one without a group', 'no-group', [['link_outside', 'no_group']]],
    ['of one without a work scope', 'no-scope', [['usage_unread', undefined]]],
  ])('learns %s', async (_, externalProjectId, expected) => {
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
    const ctx = createTestContext(await openFresh(), {
      installs: new Map([['acme', inStudio()]]),
      adapters: new Map([['studio', reading]]),
    });
    ctx.alerts.raise = (kind, fields) => {
      expect(fields).toMatchObject({ install: 'acme', link: 'l1', tool: 'studio' });
      raised.push([kind, Reflect.get(fields, 'reason')]);
    };
    reportEvidence(ctx, { ...emptyEvidence(), links: [{ ...emptyLink('acme', 'l1'), externalProjectId }] }, []);
    expect(raised).toEqual(expected);
  });

  it('learns nothing of a link that is gone', async () => {
    const raised: string[] = [];
    const ctx = createTestContext(await openFresh(), {
      installs: new Map([['acme', inStudio(['signs'])]]),
      adapters: new Map([['studio', createMemoryTool().adapter]]),
    });
    ctx.alerts.raise = (kind) => void raised.push(kind);
    const outside = { ...emptyLink('acme', 'l1'), externalProjectId: 'cars' };
    reportEvidence(ctx, { ...emptyEvidence(), links: [outside] }, []);
    const removed = { ...outside, removedEventAt: '2026-03-15T12:00:00.000Z' };
    reportEvidence(ctx, { ...emptyEvidence(), links: [removed] }, []);
    expect(raised).toEqual(['link_outside']);
  });
});
