import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { isThorough } from '../support/tries.ts';

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** A browser with the console open. */
export interface Visit {
  /** Names the screen, for screenshots. */
  name: string;
  hasScripts: boolean;
  page: Page;
  context: BrowserContext;
  /** Errors and warnings of the browser, and requests to other hosts. */
  complaints: string[];
}

export interface VisitOptions {
  hasScripts?: boolean;
  width?: number;
  scheme?: 'light' | 'dark';
}

/** Ways to use the console. Every journey runs in the first two, and with `TEST_TRIES=all` in all of them. */
export const ways: readonly (readonly [name: string, options: VisitOptions])[] = [
  ['with JavaScript', { hasScripts: true }] as const,
  ['without JavaScript, on a phone', { hasScripts: false, width: 390, scheme: 'dark' }] as const,
  ['without JavaScript', { hasScripts: false }] as const,
  ['with JavaScript, on a phone', { hasScripts: true, width: 390 }] as const,
].slice(0, isThorough ? undefined : 2);

type OpenVisit = (consoleUrl: string, options?: VisitOptions) => Promise<Visit>;

/** Declares tests that need a browser. Without one they are skipped, and NOT RUN is printed. */
export function describeInBrowser(name: string, declare: (open: OpenVisit) => void): void {
  if (!existsSync(executablePath)) {
    process.stdout.write(`*** NOT RUN: ${name}: there is no browser at ${executablePath} ***\n`);
  }
  describe.skipIf(!existsSync(executablePath))(name, () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await chromium.launch({
        executablePath,
        // A container has little shared memory, and root gets no sandbox.
        args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-dev-shm-usage'],
      });
    });
    afterAll(async () => browser.close());

    declare(async (consoleUrl, { hasScripts = true, width = 1280, scheme = 'light' } = {}) => {
      const context = await browser.newContext({
        baseURL: consoleUrl,
        javaScriptEnabled: hasScripts,
        viewport: { width, height: 900 },
        colorScheme: scheme,
      });
      // Only for what hangs for ever: no test may fail because the machine is busy.
      context.setDefaultTimeout(200_000);
      onTestFinished(() => context.close());
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(`${error}`));
      page.on('dialog', (dialog) => {
        complaints.push(`a dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('request', (request) => {
        const { origin } = new URL(request.url());
        if (origin !== consoleUrl) complaints.push(`a request to ${origin}`);
      });
      const name = `${width}-${scheme}${hasScripts ? '' : '-no-scripts'}`;
      return { name, hasScripts, page, context, complaints };
    });
  });
}

/** Presses a button and waits for the page to which its act leads. */
export async function act({ page }: Visit, button: string): Promise<void> {
  const committed = page.waitForEvent('framenavigated');
  await page.getByRole('button', { name: button }).click();
  await committed;
  // A page that is still loading cannot be reloaded.
  await page.waitForLoadState();
}

/** Opens a section from the side bar, which is a menu on a phone. */
export async function goTo({ page }: Visit, section: string): Promise<void> {
  const menu = page.getByText('Menu', { exact: true });
  if (await menu.isVisible()) await menu.click();
  const sections = page.getByRole('navigation');
  await sections.getByRole('link', { name: new RegExp(`^${section}( \\d+)?$`) }).click();
}

export async function signIn({ page }: Visit, token: string): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Your token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(({ pathname }) => pathname !== '/sign-in');
}
