import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { choose, showTheme, t, theme, THEMES } from './format.js';
import { ActionDialog, Field } from './form.js';
import { Icon, Logo } from './icons.js';
import { Search } from './search.js';
import { cashback, type Session } from './session.js';

export interface Entry {
  path: string;
  name: string;
}

interface HeaderProps {
  session: Session;
  views: Entry[];
  current: string;
  leave: () => void;
}

/** One line on every width: whose page it is, the menu, the search, and the user. */
export function Header({ session, views, current, leave }: HeaderProps): JSX.Element {
  const { me } = session;
  const links = views.map(({ path, name }) => (
    <a key={path} href={`#/${path}`} aria-current={path === current ? 'page' : undefined} onClick={closeMenus}>
      {name}
    </a>
  ));
  return (
    <header>
      <a class="skip" href="#main" onClick={skip}>
        {t.skip}
      </a>
      <a class="brand" href="#/" title={me.merchant.name}>
        <Logo />
        <span>{me.merchant.name}</span>
      </a>
      <nav aria-label={t.menu}>{links}</nav>
      <Search session={session} />
      <button class="quiet round only-narrow" popovertarget="menu" aria-label={t.menu}>
        <Icon name="menu" />
      </button>
      <nav id="menu" popover aria-label={t.menu}>
        {links}
      </nav>
      <User session={session} leave={leave} />
    </header>
  );
}

/** An address here is that of a view, so a link to a part of the page only moves the focus. */
function skip(event: MouseEvent): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('main h1')?.focus();
}

function closeMenus(): void {
  for (const menu of document.querySelectorAll<HTMLElement>(':popover-open')) menu.hidePopover();
}

const initials = (name: string): string =>
  name
    .split(/\s+/)
    .map(([letter = '']) => letter)
    .filter((_, index, all) => index === 0 || index === all.length - 1)
    .join('')
    .toUpperCase();

function User({ session, leave }: { session: Session; leave: () => void }): JSX.Element {
  const { me } = session;
  const [isChanging, change] = useState(false);
  return (
    <>
      {/* The letters are no text: a reader says the whole name. */}
      <button class="round" popovertarget="user" aria-label={t.user(me.name)} data-text={initials(me.name)} />
      <div id="user" popover>
        <p>
          <strong>{me.name}</strong>
          <br />
          <small>{me.email}</small>
        </p>
        <Settings />
        <button
          onClick={() => {
            closeMenus();
            change(true);
          }}
        >
          {t.password.button}
        </button>
        <button onClick={leave}>{t.logOut}</button>
      </div>
      {isChanging && (
        <ActionDialog
          label={t.password.button}
          onClose={() => change(false)}
          work={async ({ current_password = '', new_password = '' }) => {
            await cashback.changePassword({ current_password, new_password });
            return t.password.done;
          }}
        >
          <Field name="current_password" label={t.password.current} type="password" />
          <Field name="new_password" label={t.password.next} type="password" />
        </ActionDialog>
      )}
    </>
  );
}

/** The language, and light or dark: both choices stay. */
export function Settings(): JSX.Element {
  const [chosen, choseTheme] = useState(theme);
  return (
    <>
      {THEMES.map((name) => (
        <button
          key={name}
          aria-pressed={chosen === name}
          onClick={() => {
            showTheme(name);
            choseTheme(name);
          }}
        >
          {t.theme[name]} {chosen === name && <Icon name="done" />}
        </button>
      ))}
      <button lang={t.other.language} onClick={() => choose(t.other.language)}>
        {t.other.name}
      </button>
    </>
  );
}
