import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Evidence } from '../../src/domain/evidence.ts';
import { evidenceOfEvent } from '../../src/evidence/evidence-of-event.ts';
import { readEvent } from '../../src/inbox/event-schema.ts';
import { expectWanted, history, toBatches, toBody } from '../support/histories.ts';
import { createPureEngine, type PureEngine } from '../support/pure-engine.ts';
import { createRandom } from '../support/random.ts';
import { expectTruth, readAsOf, type Story, storyOf, tell, toInstant } from '../support/stories.ts';
import { tries } from '../support/tries.ts';

const monthMs = 30 * 24 * 3_600_000;
const beginMs = Date.parse('2026-03-15T12:00:00.000Z');

describe('any order and any repetition of events', () => {
  it('ends in the same memberships, and then leaves nothing to plan', () => {
    fc.assert(
      fc.property(history, ({ set, order, batches }) => {
        const engine = createPureEngine();
        for (const batch of toBatches(order, batches)) {
          for (const index of batch) {
            const happened = set[index];
            if (happened) take(engine, happened.install, toBody(happened), beginMs);
          }
          engine.derive();
        }
        expect(engine.wanted()).toEqual(expectWanted(set));
        expect(engine.plan()).toEqual([]);
      }),
      { numRuns: tries(10_000) },
    );
  });
});

const anyStory = storyOf({
  maxSteps: 12,
  afterMin: [0, 0, 1, 5, 11, 20, 400, 1600],
  delaysMin: [0, 0, 2, 12, 30, 1500],
});

describe('whatever is lost, late, repeated or reordered', () => {
  it('ends in the roster that is true, once the marketplace has been read', async () => {
    await fc.assert(
      fc.asyncProperty(anyStory, async (story) => {
        const { engine, events } = await live(story);
        expectTruth(engine.roster(), events, story);
        expect(engine.plan()).toEqual([]);
      }),
      { numRuns: tries(10_000) },
    );
  });

  it('and evidence of reads and events in any order ends in the same memberships', async () => {
    await fc.assert(
      fc.asyncProperty(anyStory, fc.nat(), async (story, seed) => {
        const { engine, evidence } = await live(story);
        const random = createRandom(seed);
        const shuffled = createPureEngine();
        for (const one of shuffle([...evidence, ...evidence], random)) {
          shuffled.merge(one);
          if (random() < 0.3) shuffled.derive();
        }
        shuffled.derive();
        expect(shuffled.wanted()).toEqual(engine.wanted());
      }),
      { numRuns: tries(2000) },
    );
  });
});

function take(engine: PureEngine, install: string, body: string, receivedMs: number): Evidence {
  const read = readEvent(Buffer.from(body));
  if (read.outcome !== 'event') throw new Error('not an event');
  const { evidence } = evidenceOfEvent(install, read.event, toInstant(receivedMs), monthMs);
  engine.merge(evidence);
  return evidence;
}

/** Lives through a story as the bridge does, and then waits until nothing can change any more. */
async function live(story: Story) {
  const engine = createPureEngine();
  const taken: Evidence[] = [];
  const events = tell(story, beginMs);
  for (const { atMs, install, seen } of events.arrivals) {
    if (seen.by === 'read_began') {
      await readAsOf(seen.read, install, engine.known(install));
      continue;
    }
    if (seen.by === 'event') taken.push(take(engine, install, seen.body, atMs));
    else {
      for (const evidence of seen.read.evidence) engine.merge(evidence);
      taken.push(...seen.read.evidence);
    }
    engine.derive();
    engine.converge(toInstant(atMs));
  }
  engine.converge(toInstant(events.endMs));
  return { engine, events, evidence: taken };
}

function shuffle<T>(items: T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
