import type { Permission } from '@cashback/client';
import { type JSX, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { setClock } from './clock.js';
import { choose, language, showTheme, t, useTimeZone } from './format.js';
import { restoreScroll, useLoad, useRoute } from './hooks.js';
import { logOut, onEnd, onIdle, onNotice, type Notice, refreshClock, resume, type Session } from './session.js';
import { Header } from './shell.js';
import { Await, Heading, InputError, Nothing, Problem } from './ui.js';
import { Clock } from './views/clock.js';
import { Customer } from './views/customer.js';
import { Home } from './views/home.js';
import { Login } from './views/login.js';
import { Order } from './views/order.js';

type Show = (session: Session, parts: string[]) => JSX.Element;

/** What is loaded when somebody opens it: the first view does not wait for it. */
function Later({
  load,
  session,
  parts,
}: {
  load: () => Promise<Show>;
  session: Session;
  parts: string[];
}): JSX.Element {
  return <Await of={useLoad(load, [])}>{(show) => show(session, parts)}</Await>;
}

const later =
  (load: () => Promise<Show>): Show =>
  (session, parts) => <Later load={load} session={session} parts={parts} />;

interface View {
  /** Without it, the view is not in the menu: other views lead to it. */
  name?: string;
  /** The user needs one of them. */
  permissions?: Permission[];
  /** @param parts of the address, after the name of the view */
  show: Show;
}

const VIEWS: Record<string, View> = {
  '': { name: t.home.title, show: (session) => <Home session={session} /> },
  customer: {
    show: (session, [id = '', ...more]) => <Customer key={id} id={id} more={more} session={session} />,
  },
  order: { show: (session, [id = '']) => <Order key={id} id={id} session={session} /> },
  campaigns: {
    name: t.campaigns.title,
    show: later(async () => (await import('./views/campaigns.js')).campaigns),
  },
  sales: {
    name: t.sales.title,
    permissions: ['reports'],
    show: later(async () => (await import('./views/sales.js')).salesView),
  },
  grants: {
    name: t.file.title,
    permissions: ['grants', 'reports'],
    show: later(async () => (await import('./views/grants.js')).grants),
  },
  closing: {
    name: t.closing.title,
    permissions: ['reports'],
    show: later(async () => (await import('./views/closing.js')).closing),
  },
  list: {
    name: t.list.title,
    permissions: ['reports'],
    show: later(async () => (await import('./views/list.js')).listView),
  },
  rules: { name: t.rules.title, show: later(async () => (await import('./views/rules.js')).rules) },
  users: {
    name: t.users.title,
    permissions: ['users'],
    show: later(async () => (await import('./views/users.js')).users),
  },
  webhooks: {
    name: t.webhooks.title,
    permissions: ['events'],
    show: later(async () => (await import('./views/webhooks.js')).webhooks),
  },
};

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
  const [path = '', ...more] = useRoute().parts;
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
  const current = Object.hasOwn(VIEWS, path) ? path : '';
  const view = VIEWS[current]!;
  const can = ({ permissions }: View): boolean => !permissions || permissions.some((name) => session!.can(name));
  const views = Object.entries(VIEWS).flatMap(([of, one]) =>
    session && one.name && can(one) ? [{ path: of, name: one.name }] : [],
  );
  return (
    <>
      {session && !isEnded && <Header session={session} views={views} current={current} leave={leave} />}
      {session?.clock && <Clock key={session.me.user_id} session={session} hidden={isEnded} />}
      {/* What was typed is still there when the same user has logged in again. */}
      {session && (
        <main id="main" key={`${current} ${session.me.user_id}`} hidden={isEnded}>
          {can(view) ? view.show(session, more) : <NotAllowed title={view.name ?? t.title} />}
        </main>
      )}
      {session === null && <Login onSession={enter} note={note} />}
      {session && isEnded && <Login onSession={enter} isModal />}
      {session === null && (
        <footer>
          <button class="link" lang={t.other.language} onClick={() => choose(t.other.language)}>
            {t.other.name}
          </button>
        </footer>
      )}
      <p class="notice" role="status">
        {notice && t.notice[notice]}
      </p>
    </>
  );
}

const NotAllowed = ({ title }: { title: string }): JSX.Element => (
  <>
    <Heading title={title} />
    <Nothing text={t.noPermission} />
  </>
);

document.documentElement.lang = language;
showTheme();
restoreScroll();
if (isSecureContext) render(<App />, document.body);
else render(<Problem error={new InputError(t.insecure)} />, document.body);
