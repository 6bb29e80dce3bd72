import { existsSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { describeIf } from './requirements.js';
import type { Service } from './service.js';

const EXECUTABLE = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
export const describeInBrowser = describeIf(EXECUTABLE, 'Pages in a browser, because Chromium is missing');

/** Without the requests that Chromium makes for itself. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const launch = (): Promise<Browser> => chromium.launch({ executablePath: EXECUTABLE!, args: ARGUMENTS });

export type Language = 'en' | 'pt-BR';

/** A person at the page. */
export interface Person {
  email: string;
  password: string;
}

interface Options {
  language?: Language;
  width?: number;
}

export interface Tabs {
  /** Opens the login in a browser of its own, as on another computer. */
  open: (options?: Options) => Promise<Page>;
  /**
   * Opens the page logged in, in a tab of the person, in which it is loaded again. Nothing but the session is left
   * there from an earlier test. @param path such as `order/0199…`
   */
  enter: (who: Person, path?: string, options?: Options) => Promise<Page>;
}

/**
 * Starts Chromium before the tests of the calling file or `describe`, and closes it after them. After each test, it
 * expects that the page has logged no error, such as one of its content security policy.
 */
export function useBrowser(service: Pick<Service, 'url'>): Tabs {
  let browser: Browser;
  let contexts: BrowserContext[] = [];
  /** A browser for each language, with the tabs of those who have logged in: a login takes as long as a short test. */
  const shared = new Map<Language, Promise<BrowserContext>>();
  const tabs = new Map<string, Page>();
  let errors: string[] = [];
  beforeAll(async () => {
    browser = await launch();
  });
  afterEach(async () => {
    await Promise.all(contexts.map((context) => context.close()));
    contexts = [];
    const found = errors;
    errors = [];
    expect(found).toEqual([]);
  });
  afterAll(() => browser?.close());
  const begin = async (language: Language): Promise<BrowserContext> => {
    const context = await browser.newContext({ locale: language });
    context.setDefaultTimeout(30_000);
    context.on('weberror', (error) => errors.push(String(error.error())));
    context.on('console', (message) => {
      // The browser itself reports every refusal of the service.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        errors.push(message.text());
    });
    return context;
  };
  const size = (page: Page, { width = 1280 }: Options): Promise<void> => page.setViewportSize({ width, height: 900 });
  const open: Tabs['open'] = async (options = {}) => {
    const context = await begin(options.language ?? 'en');
    contexts.push(context);
    const page = await context.newPage();
    await size(page, options);
    await page.goto(`${service.url}/back-office/`);
    return page;
  };
  const tabOf = async (key: string, language: Language): Promise<Page> => {
    const known = tabs.get(key);
    if (known !== undefined && !known.isClosed()) return known;
    if (!shared.has(language)) shared.set(language, begin(language));
    const page = await (await shared.get(language)!).newPage();
    tabs.set(key, page);
    return page;
  };
  const enter: Tabs['enter'] = async (who, path = '', options = {}) => {
    const { language = 'en' } = options;
    const page = await tabOf(`${language} ${who.email}`, language);
    page.removeAllListeners('request');
    await page.unrouteAll({ behavior: 'wait' });
    await size(page, options);
    const address = `${service.url}/back-office/${path && `#/${path}`}`;
    if (!page.url().startsWith(service.url)) await page.goto(address);
    else {
      // Without an event, so that nothing is shown before it is loaded again.
      await page.evaluate(`history.replaceState(null, '', ${JSON.stringify(address)})`);
      await page.reload();
    }
    await page.locator('.brand, .login').first().waitFor();
    if ((await page.locator('.login').count()) > 0) await logIn(page, who);
    return page;
  };
  return { open, enter };
}

export async function logIn(page: Page, { email, password }: Person): Promise<void> {
  await page.locator('#email').fill(email);
  await page.locator('#password').fill(password);
  await page.locator('.login form button').click();
  await page.locator('.brand').waitFor();
}

/** Opens a dialog by its button. */
export async function openDialog(within: Page | Locator, button: string): Promise<Locator> {
  await within.getByRole('button', { name: button, exact: true }).click();
  const page = 'page' in within ? within.page() : within;
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  return dialog;
}

/** The button that does what the dialog is for, when what would happen has been shown. */
export const submit = (within: Page | Locator): Locator => within.locator('[data-step="confirm"]');

/** Clicks twice on what the dialog does. */
export const confirm = (dialog: Locator): Promise<void> => submit(dialog).dblclick();

/** Looks for something in the header, as people do from everywhere. */
export async function look(page: Page, text: string): Promise<void> {
  await page.getByRole('searchbox').fill(text);
  await page.keyboard.press('Enter');
}

/** Waits until everything has loaded. */
export async function loaded(page: Page): Promise<void> {
  await page.locator('main h1').waitFor();
  while ((await page.locator('.skeleton').count()) > 0)
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
}

/** A text without the no-break spaces of amounts. */
export const plain = (text: string): string => text.replaceAll('\u00a0', ' ');
