import { expect, it } from 'vitest';
import { instantForm } from '../../../src/console/view/past.ts';

const now = '2026-03-15T12:00:00.000Z';

function sliderIn(since: string): string | undefined {
  const form = instantForm({ path: '/memberships/1' }, undefined, since, { now: () => new Date(now) });
  return /<input type="range"[^>]*>/.exec(String(form))?.[0];
}

it('offers minutes of the past once the journal is older than one', () => {
  expect(sliderIn('2026-03-15T11:59:01.000Z')).toBeUndefined();
  expect(sliderIn('2026-03-15T11:59:00.000Z')).toContain('max="1"');
  expect(sliderIn('2026-03-15T11:30:00.000Z')).toContain('max="30"');
  expect(sliderIn('2025-03-15T12:00:00.000Z')).toContain('max="43200"');
});
