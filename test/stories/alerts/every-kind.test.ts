import { expect, it } from 'vitest';
import { adviceOf, alertKinds, isTold, type RaisedKind } from '../../../src/lib/troubles.ts';
import { alertRules } from '../../../src/notify/alert-rules.ts';
import { type AlertStory, tellStories } from '../../support/alert-stories/alert-story.ts';
import { evidenceStories } from '../../support/alert-stories/of-evidence.ts';
import { messageStories } from '../../support/alert-stories/of-messages.ts';
import { tokenStories } from '../../support/alert-stories/of-tokens.ts';
import { toolStories } from '../../support/alert-stories/of-tools.ts';
import { workStories } from '../../support/alert-stories/of-work.ts';

/** The compiler says which kind has no story. Of the kinds that are listed some have one. */
const stories: Record<RaisedKind, AlertStory> = {
  ...evidenceStories,
  ...toolStories,
  ...workStories,
  ...tokenStories,
  ...messageStories,
};

tellStories(stories);

const ruleOf = (kind: string) => (isTold(kind) ? undefined : alertRules[kind as RaisedKind]);

it.each([...alertKinds].filter(ruleOf))('%s has a story, and a rule for when it is over', (kind) => {
  const { over, isOpen, scope } = ruleOf(kind) ?? {};
  expect(stories[kind as RaisedKind]).toBeTypeOf('function');
  expect([over === 'at_once', over === 'observed']).toEqual([isOpen === undefined, scope !== undefined]);
});

it.each([...alertKinds])('%s has advice', (kind) => {
  expect(adviceOf(kind)).not.toBeNull();
});
