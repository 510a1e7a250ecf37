import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type AlertKind, alertKinds } from '../../../src/lib/alerts.ts';
import { isTroubleKind } from '../../../src/lib/troubles.ts';
import { adviceOf } from '../../../src/notify/advice.ts';
import { alertRules } from '../../../src/notify/alert-rules.ts';
import type { AlertStory } from '../../support/alert-stories/alert-story.ts';
import { evidenceStories } from '../../support/alert-stories/of-evidence.ts';
import { messageStories } from '../../support/alert-stories/of-messages.ts';
import { tokenStories } from '../../support/alert-stories/of-tokens.ts';
import { toolStories } from '../../support/alert-stories/of-tools.ts';
import { workStories } from '../../support/alert-stories/of-work.ts';

/** The compiler says which kind has no story. */
const stories: Record<AlertKind, AlertStory> = {
  ...evidenceStories,
  ...toolStories,
  ...workStories,
  ...tokenStories,
  ...messageStories,
};

const entries = readFileSync('docs/alerts.md', 'utf8').split('\n## ').slice(1);

describe.each([...alertKinds])('%s', (kind) => {
  const { over, stands, scope } = alertRules[kind];

  it('has a story, and a rule for when it is over', () => {
    expect(stories[kind]).toBeTypeOf('function');
    expect([over === 'at_once', over === 'observed']).toEqual([stands === undefined, scope !== undefined]);
  });

  it('has an entry that says when it is over, and what to do if the table of troubles does not, and advice', () => {
    const entry = entries.find((text) => text.startsWith(`\`${kind}\``)) ?? '';
    if (!isTroubleKind(kind)) expect(entry).toMatch(/^- \*\*Means:\*\* .+\n- \*\*Look:\*\* .+\n- \*\*Do:\*\* .+$/m);
    const says = /^- \*\*Over:\*\* (.+)$/m.exec(entry)?.[1] ?? '';
    expect(says.startsWith('at once')).toBe(over === 'at_once');
    expect(adviceOf(kind)).not.toBeNull();
  });
});
