import { beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { confirm, describeInBrowser, logIn, useBrowser, openDialog, submit } from '../support/browser.js';
import { aUser } from '../support/factories.js';
import { type Shop, unique } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { axeFindings } from './axe.js';

const { service, merchant } = useService();

describeInBrowser('Users in the back office', () => {
  const { open, enter } = useBrowser(service);
  let owner: Shop;
  let mighty: Shop;
  beforeAll(async () => {
    owner = await aUser(service, merchant.id, ['sell', 'refund', 'reports', 'users'], 'Dona Ana');
    mighty = await aUser(service, merchant.id, ['sell', 'grants'], 'CRM');
  });

  const rowOf = (page: Page, name: string): Locator => page.getByRole('row').filter({ hasText: name });

  it('are created with at most the permissions of who creates them, with a password that is shown once, one after the other', async () => {
    const email = `caixa-${unique()}@shop.example`;
    const page = await enter(owner, 'users');
    const dialog = await openDialog(page, 'Create access');
    expect((await dialog.getByRole('checkbox').all()).length).toBe(4);
    expect(await dialog.getByRole('checkbox', { name: /^grant/ }).count()).toBe(0);
    expect(await dialog.getByRole('button', { name: 'Marketing' }).count()).toBe(0);
    await dialog.getByLabel('Name').fill('Caixa 3');
    await dialog.getByLabel('Email').fill(email);
    await dialog.getByRole('button', { name: 'Till, online shop' }).click();
    expect(await dialog.getByRole('checkbox', { checked: true }).count()).toBe(2);
    // The role does not empty the other fields.
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Caixa 3');
    expect(await axeFindings(page)).toEqual([]);
    await confirm(dialog);
    const password = await dialog.locator('code').innerText();
    expect(await dialog.getByRole('button', { name: 'Copy' }).count()).toBe(1);
    await logIn(await open(), { email, password });

    await dialog.getByRole('button', { name: 'Create another' }).click();
    await dialog.getByLabel('Email').waitFor();
    expect(await dialog.locator('code').count()).toBe(0);
    // The email is taken; what was typed stays.
    await dialog.getByLabel('Name').fill('Caixa 4');
    await dialog.getByLabel('Email').fill(email);
    await dialog.getByRole('checkbox', { name: /^sell/ }).check();
    await submit(dialog).click();
    expect(await dialog.getByRole('alert').innerText()).toContain('Another user has this email.');
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Caixa 4');
    await dialog.getByRole('button', { name: 'Back' }).click();
    expect(await rowOf(page, email).innerText()).toContain('Till, online shop');
    expect((await merchant.all<{ email: string }>('/users')).filter((user) => user.email === email)).toHaveLength(1);
  });

  it('are not created without a permission: what may be chosen is marked, and says so', async () => {
    const page = await enter(owner, 'users');
    const dialog = await openDialog(page, 'Create access');
    await dialog.getByLabel('Name').fill('Caixa 5');
    await dialog.getByLabel('Email').fill(`caixa-${unique()}@shop.example`);
    await submit(dialog).click();
    await dialog.getByText('Check the marked fields.').waitFor();
    const choice = dialog.getByRole('group', { name: 'For every day' });
    const described = await choice.getAttribute('aria-describedby');
    expect(await dialog.locator(`[id="${described}"]`).innerText()).toBe('Choose what the user may do.');
    expect(await dialog.getByRole('checkbox', { name: /^sell/ }).getAttribute('aria-invalid')).toBe('true');
  });

  it('are changed, disabled and enabled, and get a new password', async () => {
    const till = await aUser(service, merchant.id, ['sell'], `Caixa ${unique()}`);
    const page = await enter(owner, 'users');
    const row = rowOf(page, till.name);
    let dialog = await openDialog(row, 'Change');
    await dialog.getByRole('checkbox', { name: /^refund/ }).check();
    await confirm(dialog);
    await dialog.waitFor({ state: 'detached' });
    await row.getByText('Till, online shop').waitFor();
    expect(await merchant.get(`/users/${till.userId}`)).toMatchObject({
      permissions: ['sell', 'refund'],
      disabled: false,
    });

    dialog = await openDialog(row, 'Disable');
    await confirm(dialog);
    await row.getByText('Disabled', { exact: true }).waitFor();
    await till.get('/policy').refused(401, 'invalid_token');
    dialog = await openDialog(row, 'Enable');
    await confirm(dialog);
    await row.getByText('Active', { exact: true }).waitFor();
    dialog = await openDialog(row, 'New password');
    await confirm(dialog);
    await logIn(await open(), { email: till.email, password: await dialog.locator('code').innerText() });
  });

  it('that may do more cannot be changed, and nobody changes themselves', async () => {
    const page = await enter(owner, 'users');
    expect(await rowOf(page, mighty.email).innerText()).toContain('may do more than you');
    expect(await rowOf(page, owner.email).innerText()).toContain('you');
    for (const { email } of [mighty, owner]) expect(await rowOf(page, email).getByRole('button').count()).toBe(0);
  });
  it('change their own password, which needs the current one', async () => {
    const till = await aUser(service, merchant.id, ['sell'], `Caixa ${unique()}`);
    const page = await enter(till);
    await page.getByRole('button', { name: /^Your account/ }).click();
    const dialog = await openDialog(page, 'Change password');
    await dialog.getByLabel('Current password').fill('wrong');
    await dialog.getByLabel('New password').fill('a better password');
    await submit(dialog).click();
    expect(await dialog.getByRole('alert').innerText()).toContain('The current password is wrong.');
    await dialog.getByLabel('Current password').fill(till.password);
    await submit(dialog).click();
    await dialog.getByText('Your password is changed.').waitFor();
    await logIn(await open(), { email: till.email, password: 'a better password' });
  });
});
