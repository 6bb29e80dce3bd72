import { gzipSync } from 'node:zlib';
import { beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeInBrowser, loaded, logIn, look, useBrowser, submit } from '../support/browser.js';
import { aDocument, aUser, grant } from '../support/factories.js';
import { atOnce } from '../support/client.js';
import type { Shop } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();

it('/back-office/ has a content security policy of its own, and files with names that change', async () => {
  const page = await fetch(`${service.url}/back-office/`);
  const html = await page.text();
  const files = [...html.matchAll(/"(main-[A-Z0-9]{8}\.(?:js|css))"/g)].map(([, file]) => file!);
  expect(files.length).toBe(2);
  expect(page.headers.get('content-security-policy')).toBe(
    "default-src 'none';script-src 'self';style-src 'self';connect-src 'self';img-src data:;base-uri 'none';" +
      "form-action 'none';frame-ancestors 'none'",
  );
  expect(page.headers.get('cache-control')).toBe('no-cache');
  expect(page.headers.get('set-cookie')).toBeNull();
  for (const file of files) {
    const { status, headers } = await fetch(`${service.url}/back-office/${file}`);
    expect({ status, cached: headers.get('cache-control') }).toEqual({
      status: 200,
      cached: 'public, max-age=31536000, immutable',
    });
  }
  const unknown = await merchant.client.get('/back-office/nothing.js');
  expect(unknown).toMatchObject({ status: 404, body: { code: 'route_not_found' } });
});

describeInBrowser('A session in the back office', () => {
  const { open, enter } = useBrowser(service);
  let support: Shop;
  beforeAll(async () => {
    support = await aUser(service, merchant.id, ['refund', 'grants', 'reports'], 'Suporte');
  });

  const sessionsOf = async ({ userId }: Shop): Promise<number> =>
    (await merchant.get<{ sessions: number }>(`/users/${userId}`)).sessions;
  const isLoggedIn = async (page: Page): Promise<boolean> => {
    await page.locator('.brand, .login').first().waitFor();
    return (await page.locator('.brand').count()) === 1;
  };

  it('needs less than 60 KiB for the login and the first view, and loads others when they are opened', async () => {
    const page = await open();
    const files = new Set<string>();
    page.on('request', (request) => request.url().includes('/back-office/') && files.add(request.url()));
    const size = async (): Promise<number> => {
      const bodies = [...files].map(
        async (file) => gzipSync(new Uint8Array(await (await fetch(file)).arrayBuffer())).length,
      );
      return (await Promise.all(bodies)).reduce((sum, bytes) => sum + bytes, 0);
    };
    await page.reload();
    await logIn(page, support);
    await loaded(page);
    const first = await size();
    expect(first).toBeLessThan(60 * 1024);
    await page.getByRole('link', { name: 'Closing' }).first().click();
    await loaded(page);
    expect(await size()).toBeGreaterThan(first);
  });

  it('begins with email and password, and a wrong password is refused in words', async () => {
    const page = await open();
    await page.locator('#email').fill(support.email);
    await page.locator('#password').fill('wrong');
    await page.getByRole('button', { name: 'Log in' }).click();
    expect(await page.getByRole('alert').textContent()).toContain('Email or password is wrong.');
    expect(await page.locator('#email').inputValue()).toBe(support.email);
    await logIn(page, support);
    await page.getByRole('button', { name: 'Your account: Suporte' }).waitFor();
  });

  it('shows only the views that the user may see, and refuses the others', async () => {
    const page = await enter(support);
    const views = await page.locator('nav[aria-label="Menu"]').first().locator('a').allTextContents();
    expect(views).toEqual(['Home', 'Campaigns', 'Sales', 'Grants', 'Closing', 'Lists', 'Rules']);
    await page.goto(`${service.url}/back-office/#/users`);
    await page.getByText('Your user may not see this.').waitFor();
  });

  it('begins at home for an address that is no view', async () => {
    const page = await open();
    for (const path of ['constructor', '__proto__', '%E0%A4%A', 'nothing']) {
      await page.goto(`${service.url}/back-office/#/${path}`);
      await page.reload();
      if (!(await isLoggedIn(page))) await logIn(page, support);
      await page.getByRole('heading', { name: 'Home' }).waitFor();
      expect(await page.title()).toBe('Home – Back office');
    }
  });

  it('needs HTTPS, and says so', async () => {
    const page = await open();
    await page.addInitScript(`Object.defineProperty(window, 'isSecureContext', { value: false })`);
    await page.reload();
    expect(await page.locator('body').innerText()).toBe('This page needs HTTPS.');
  });

  it('is the same after a reload, and ends with the button', async () => {
    const page = await enter(support);
    const before = await sessionsOf(support);
    await page.reload();
    expect(await isLoggedIn(page)).toBe(true);
    expect(await sessionsOf(support)).toBe(before);
    await page.getByRole('button', { name: 'Your account' }).click();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.locator('.login').waitFor();
    expect(await sessionsOf(support)).toBe(before - 1);
    await page.reload();
    expect(await isLoggedIn(page)).toBe(false);
  });

  it('is not shared with a duplicated tab, which logs in for itself', async () => {
    const page = await enter(support);
    const copied = await page.evaluate('({ ...sessionStorage })');
    const tab = await page.context().newPage();
    // A browser copies the session storage of a tab that is duplicated.
    await tab.addInitScript(
      `if (sessionStorage.length === 0) Object.assign(sessionStorage, ${JSON.stringify(copied)})`,
    );
    await tab.goto(`${service.url}/back-office/`);
    expect(await isLoggedIn(tab)).toBe(false);
    await logIn(tab, support);
    await atOnce(2, (index) => [page, tab][index]!.reload());
    expect([await isLoggedIn(page), await isLoggedIn(tab)]).toEqual([true, true]);
  });

  it('refreshes its tokens, also if they expired while the tab was closed', async () => {
    const page = await enter(support);
    await page.evaluate(`{
      const tokens = JSON.parse(sessionStorage.getItem('tokens'));
      sessionStorage.setItem('tokens', JSON.stringify({ ...tokens, access_token_expire_at: new Date().toISOString() }));
    }`);
    await page.reload();
    expect(await isLoggedIn(page)).toBe(true);
  });

  it('ends after 30 minutes without use', async () => {
    const page = await open();
    await page.clock.install();
    await page.reload();
    await logIn(page, support);
    await page.clock.fastForward('29:00');
    await page.keyboard.press('Shift');
    await page.clock.fastForward('29:00');
    expect(await isLoggedIn(page)).toBe(true);
    await page.clock.fastForward('31:00');
    await page.locator('.login').waitFor();
  });

  it('that was ended elsewhere leads to the login, and keeps what was typed', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '10.00');
    const { id } = await merchant.wallet(document);
    const user = await aUser(service, merchant.id, ['grants'], 'Balcão');
    const page = await enter(user, `customer/${id}`);
    await page.getByRole('button', { name: 'Grant cashback' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Amount').fill('5,00');
    await dialog.getByLabel('Reason').fill('Atraso na entrega');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await merchant.post(`/users/${user.userId}/password`);
    const { password } = await merchant.post<{ password: string }>(`/users/${user.userId}/password`);
    await submit(dialog).click();
    await page.locator('dialog.login').waitFor();
    await logIn(page, { email: user.email, password });
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('Atraso na entrega');
    expect(await merchant.wallet(document)).toMatchObject({ available: '10.00' });
  });

  it('leaves no document in the address, the title, the history and the storage', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '10.00');
    const page = await enter(support);
    await look(page, document);
    await page.getByRole('heading', { name: 'Customer' }).waitFor();
    await page.locator('.tile').first().waitFor();
    const traces = await page.evaluate(
      'JSON.stringify([location.href, document.title, history.state, { ...sessionStorage }, { ...localStorage }])',
    );
    expect(traces).not.toContain(document);
    // It is hidden until it is asked for.
    expect(await page.locator('main').textContent()).not.toContain(document.slice(0, 3));
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    expect(await page.locator('h1 .document').textContent()).toContain(document.slice(0, 3));
  });
});
