import type { Permission } from '@cashback/client';
import { type JSX, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { setClock } from './clock.js';
import { choose, language, t, useTimeZone } from './format.js';
import { useRoute } from './hooks.js';
import {
  cashback,
  logOut,
  onEnd,
  onIdle,
  onNotice,
  type Notice,
  refreshClock,
  resume,
  type Session,
} from './session.js';
import { Action, Field, InputError, Problem } from './ui.js';
import { Clock } from './views/clock.js';
import { Customer } from './views/customer.js';
import { Find } from './views/find.js';
import { Login } from './views/login.js';
import { Months } from './views/months.js';
import { Order } from './views/order.js';
import { People } from './views/people.js';
import { Rules } from './views/rules.js';
import { Today } from './views/today.js';
import { Webhooks } from './views/webhooks.js';

interface View {
  /** Without it, the view is not in the menu: it needs an ID. */
  name?: string;
  permission?: Permission;
  show: (session: Session, id: string[]) => JSX.Element;
}

const VIEWS: Record<string, View> = {
  '': { name: t.find.title, show: (session) => <Find session={session} /> },
  customer: { show: (session, id) => <Customer key={id.join()} id={id} session={session} /> },
  order: { show: (session, [id = '']) => <Order key={id} id={id} session={session} /> },
  today: { name: t.today.title, permission: 'reports', show: (session) => <Today session={session} /> },
  months: { name: t.months.title, permission: 'reports', show: (_, [month]) => <Months month={month} /> },
  rules: { name: t.rules.title, show: () => <Rules /> },
  webhooks: { name: t.webhooks.title, permission: 'events', show: (_, range) => <Webhooks range={range} /> },
  people: { name: t.people.title, permission: 'users', show: (session) => <People session={session} /> },
};

function Menu({ session, current, leave }: { session: Session; current: string; leave: () => void }): JSX.Element {
  const { me } = session;
  const entries = Object.entries(VIEWS).filter(
    ([, { name, permission }]) => name && (!permission || session.can(permission)),
  );
  return (
    <header>
      <strong>{me.merchant.name}</strong>
      <nav aria-label={t.menu}>
        {entries.map(([path, { name }]) => (
          <a key={path} href={`#/${path}`} aria-current={path === current ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <span class="user">
        {me.name}{' '}
        <Action
          label={t.password.button}
          work={async ({ current_password = '', new_password = '' }) => {
            await cashback.changePassword({ current_password, new_password });
            return t.password.done;
          }}
        >
          <Field name="current_password" label={t.password.current} type="password" />
          <Field name="new_password" label={t.password.next} type="password" />
        </Action>{' '}
        <button onClick={leave}>{t.logOut}</button>
      </span>
    </header>
  );
}

/** Reads the clock when someone comes from elsewhere, where it may have been moved; but not while they type. */
function followMoves(): () => void {
  const follow = (): void => {
    if (!document.querySelector('dialog[open]')) void refreshClock().catch(() => undefined);
  };
  for (const type of ['focus', 'hashchange']) addEventListener(type, follow);
  return () => {
    for (const type of ['focus', 'hashchange']) removeEventListener(type, follow);
  };
}

function App(): JSX.Element {
  const [session, setSession] = useState<Session | null>();
  const [note, setNote] = useState<unknown>();
  const [isEnded, setEnded] = useState(false);
  const [notice, setNotice] = useState<Notice>(null);
  const [path = '', ...id] = useRoute();
  const enter = (next: Session | null): void => {
    if (next) useTimeZone(next.policy.time_zone);
    setClock(next?.clock ?? null);
    setSession(next);
    setEnded(false);
  };
  const leave = (): void => void logOut().then(() => setSession(null));
  useEffect(() => onNotice(setNotice), []);
  useEffect(() => onEnd(() => setEnded(true)), []);
  useEffect(() => {
    resume().then(enter, (error: unknown) => {
      setNote(error);
      setSession(null);
    });
  }, []);
  useEffect(() => (session ? onIdle(leave) : undefined), [session]);
  useEffect(() => (session?.clock ? followMoves() : undefined), [session]);
  // `#/constructor` is no view either.
  const view = VIEWS[Object.hasOwn(VIEWS, path) ? path : '']!;
  useEffect(() => {
    document.title = `${view.name ?? t.title} – ${t.title}`;
  }, [path]);
  return (
    <>
      {session && !isEnded && <Menu session={session} current={path} leave={leave} />}
      {session?.clock && <Clock key={session.me.user_id} session={session} hidden={isEnded} />}
      {/* What was typed is still there when the same user has logged in again. */}
      {session && (
        <main key={`${path} ${session.me.user_id}`} hidden={isEnded}>
          {!view.permission || session.can(view.permission) ? view.show(session, id) : <p>{t.noPermission}</p>}
        </main>
      )}
      {session === null && <Login onSession={enter} note={note} />}
      {session && isEnded && <Login onSession={enter} isModal />}
      <footer>
        <button class="link" lang={t.other.language} onClick={() => choose(t.other.language)}>
          {t.other.name}
        </button>
      </footer>
      <p class="notice" role="status">
        {notice && t.notice[notice]}
      </p>
    </>
  );
}

document.documentElement.lang = language;
if (isSecureContext) render(<App />, document.body);
else render(<Problem error={new InputError(t.insecure)} />, document.body);
