import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect } from 'vitest';
import type { Visit } from './open-browser.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Elements whose content is wider than they are. */
const overflowing = `[...document.querySelectorAll('.table, td, dd, pre, figure')]
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.outerHTML.slice(0, 200))`;

interface AxeResult {
  violations: { id: string; nodes: { html: string }[] }[];
}

/** A folder for screenshots of the pages, if somebody wants to look at them. */
const pictures = process.env['PICTURES'];

/** Expects the current page to fit the screen and to be accessible. */
export async function inspectPage(visit: Visit): Promise<void> {
  try {
    await inspectOnce(visit);
  } catch (error) {
    // A page that shows progress may reload at any moment.
    if (!String(error).includes('Execution context was destroyed')) throw error;
    await visit.page.waitForLoadState();
    await inspectPage(visit);
  }
}

async function inspectOnce({ page, name, hasScripts }: Visit): Promise<void> {
  const { pathname, search } = new URL(page.url());
  const address = `${pathname}${search}`;
  if (pictures !== undefined) {
    const file = `${pictures}/${address.replaceAll(/\W+/g, '-')}-${name}.png`;
    await page.screenshot({ path: file, fullPage: true });
  }
  // On a wide screen a wide table may scroll, on a phone nothing may, and the page itself never.
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  expect([address, overflow]).toEqual([address, 0]);
  if ((page.viewportSize()?.width ?? 0) < 640)
    expect([address, await page.evaluate(overflowing)]).toEqual([address, []]);
  // Axe needs timers, which do not run without JavaScript.
  if (!hasScripts) return;
  // The console's policy forbids scripts from elsewhere, but not those of the browser's debugger.
  const { violations } = (await page.evaluate(`${axe}; axe.run()`)) as AxeResult;
  const faults = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  expect([address, faults]).toEqual([address, []]);
}
