import { describe, expect, it } from 'vitest';
import type { AlertNotice } from '../../src/domain/notice.ts';
import { composeDigest } from '../../src/notify/compose-digest.ts';
import { newNotice } from '../support/notices.ts';

const unknown = {
  fundedVolume: null,
  fundedAmountUsd: null,
  consumedVolume: null,
  remainingVolume: null,
  consumedFraction: null,
};

describe('a digest', () => {
  it('counts the notices, and puts the most serious first', () => {
    const digest = composeDigest(
      [
        newNotice({ kind: 'budget.ok', contractId: 'c1', budget: unknown }),
        newNotice({ contractId: 'c2', isRepeat: true }),
        newNotice({
          kind: 'budget.depleted',
          contractId: 'c3',
          budget: {
            fundedVolume: 12.5,
            fundedAmountUsd: null,
            consumedVolume: 15,
            remainingVolume: 0,
            consumedFraction: 1.2,
          },
        }),
      ],
      10_000,
    );
    expect(digest).toEqual({
      title: 'Gangway: contract budgets: 1 DEPLETED, 1 LOW, 1 OK again',
      lines: [
        'DEPLETED · contract c3 of acme · 120 % used · 0 left of 12.5 · 2026-03-15 11:59 UTC · do: Fund the next milestone (gangway milestones fund, or ask the customer), or end the contract',
        'still LOW · contract c2 of acme · 85 % used · 15 left of 100 · 2500 USD funded · 2026-03-15 11:59 UTC · do: Fund the next milestone (gangway milestones fund, or ask the customer)',
        'OK again · contract c1 of acme · 2026-03-15 11:59 UTC',
      ],
    });
  });

  it.each([
    [0.29, '29 %'],
    [0.8, '80 %'],
    [0.9999, '99 %'],
    [1, '100 %'],
  ])('says %d as %s, and 100 % only if all is used', (consumedFraction, said) => {
    const { lines } = composeDigest([newNotice({ budget: { ...unknown, consumedFraction } })], 1000);
    expect(lines[0]).toContain(`${said} used`);
  });

  it.each([0, 100, 300, 2000, 20_000])('is never longer than %d characters', (maxLength) => {
    const notices = Array.from({ length: 100 }, (_, at) => newNotice({ contractId: `c${at}` }));
    const { title, lines } = composeDigest(notices, maxLength);
    const shown = lines.filter((line) => line.startsWith('LOW')).length;
    const rest = /^… and (\d+) more: gangway notifications list$/.exec(lines.at(-1) ?? '')?.[1];
    expect(shown + Number(rest ?? 0)).toBe(100);
    expect(rest === undefined).toBe(maxLength === 20_000);
    if (maxLength > 100) expect([title, ...lines].join('\n').length).toBeLessThanOrEqual(maxLength);
  });

  it('shows an id on the same line and without a mention', () => {
    const contractId = `c\n@everyone \u202e\u001b[31m${'x'.repeat(500)}`;
    const { lines } = composeDigest([newNotice({ contractId })], 2000);
    expect(lines).toEqual([expect.stringMatching(/^LOW · contract c \(at\)everyone x{80,90} of acme/)]);
  });

  it('shows the URL where a person acts, and no other link of a stranger', () => {
    const notice: AlertNotice = {
      kind: 'alert.payment_waiting',
      isOver: false,
      isRepeat: false,
      endsAtOnce: false,
      since: '2026-03-15T11:59:00.000Z',
      occurredAt: '2026-03-15T11:59:00.000Z',
      message: 'A payment waits',
      about: { payment: 'https://evil.example', url: 'https://pay.example/inv?a=1&b=2' },
    };
    const { lines } = composeDigest([notice], 2000);
    expect(lines[0]).toMatch(/^ALERT · A payment waits · payment … · url https:\/\/pay\.example\/inv\?a=1&b=2 · 2026/);
  });
});
