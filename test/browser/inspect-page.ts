import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect } from 'vitest';
import type { Visit } from './open-browser.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Whatever has more in it than its width shows. */
const scrolledOnes = `[...document.querySelectorAll('.table, td, dd, pre, figure')]
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.outerHTML.slice(0, 200))`;

interface AxeResult {
  violations: { id: string; nodes: { html: string }[] }[];
}

/** Where pictures of the pages are left, for those who want to look at them. */
const pictures = process.env['PICTURES'];

/** That everyone can use the page that is shown now: it fits the screen, and axe finds nothing. */
export async function inspectPage(visit: Visit): Promise<void> {
  try {
    await inspectOnce(visit);
  } catch (error) {
    // A page that shows progress may reload itself at any moment.
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
  // On a wide screen a wide table is scrolled by itself, on a phone nothing is; the page never is.
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  expect([address, overflow]).toEqual([address, 0]);
  if ((page.viewportSize()?.width ?? 0) < 640)
    expect([address, await page.evaluate(scrolledOnes)]).toEqual([address, []]);
  // It waits for timers, which do not run without JavaScript.
  if (!hasScripts) return;
  // The policy of the console lets no page run a script of another; the debugger of the browser may.
  const { violations } = (await page.evaluate(`${axe}; axe.run()`)) as AxeResult;
  const faults = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  expect([address, faults]).toEqual([address, []]);
}
