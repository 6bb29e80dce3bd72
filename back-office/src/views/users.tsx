import type { Permission, User } from '@cashback/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Action, ActionDialog, Choice, Field } from '../form.js';
import { count, instant, t } from '../format.js';
import { cashback, type Session } from '../session.js';
import { type Column, PagedTable } from '../table.js';
import { Badge, Head, Once, When } from '../ui.js';

/** What is usual, and what takes something from customers, decides for all of them, or lets others in. */
const GROUPS = {
  usual: ['sell', 'refund', 'grants', 'customers', 'reports'],
  careful: ['debits', 'late_sales', 'rules', 'events', 'privacy', 'users'],
} as const satisfies Record<string, Permission[]>;

/** The roles of docs/roles.md. */
const ROLES = {
  till: ['sell', 'refund'],
  support: ['refund', 'grants', 'customers', 'reports'],
  finance: ['reports'],
  marketing: ['rules', 'grants', 'reports'],
  owner: [...GROUPS.usual, ...GROUPS.careful],
} as const satisfies Record<string, Permission[]>;
type Role = keyof typeof ROLES;
const ROLE_ENTRIES = Object.entries(ROLES) as [Role, Permission[]][];

/** @returns the role that has the most of what a user may do, and at most two permissions less */
function roleOf(permissions: Permission[]): [name: string | undefined, more: Permission[]] {
  const moreThan = (role: Permission[]): Permission[] => permissions.filter((name) => !role.includes(name));
  const [best] = ROLE_ENTRIES.filter(
    ([, role]) =>
      role.every((name) => permissions.includes(name)) && moreThan(role).length <= (role.length > 1 ? 2 : 0),
  ).sort(([, one], [, other]) => other.length - one.length);
  return best ? [t.users.role[best[0]], moreThan(best[1])] : [undefined, permissions];
}

function May({ permissions }: { permissions: Permission[] }): JSX.Element {
  const [role, more] = roleOf(permissions);
  const names = more.map((name) => t.permission[name]).join(', ');
  return role === undefined ? (
    <>{names}</>
  ) : (
    <>
      {role} {names && <small>{t.users.and(names)}</small>}
    </>
  );
}

function Status({ of: { disabled, locked_out_until } }: { of: User }): JSX.Element {
  if (disabled) return <Badge tone="off" text={t.users.disabled} />;
  if (locked_out_until === null) return <Badge tone="good" text={t.users.active} />;
  return (
    <>
      <Badge tone="wait" text={t.users.lockedOut} />
      <small>{t.users.until(instant(locked_out_until))}</small>
    </>
  );
}

export function Users({ session }: { session: Session }): JSX.Element {
  const [version, changed] = useState(0);
  /** The dialogs that have been opened to create users, one after the other; null if none is open. */
  const [creating, create] = useState<{ times: number; has: Permission[] } | null>(null);
  const onChange = (): void => changed((n) => n + 1);
  const columns: Column<User>[] = [
    {
      head: t.users.name,
      isLead: true,
      cell: ({ name, email }) => (
        <>
          {name} <small>{email}</small>
        </>
      ),
    },
    { head: t.users.may, cell: ({ permissions }) => <May permissions={permissions} /> },
    {
      head: t.users.lastLogin,
      cell: (user) => (user.last_login_at ? <When at={user.last_login_at} /> : t.webhooks.never),
    },
    { head: t.users.sessions, cell: ({ sessions }) => (sessions === 0 ? '–' : count(sessions)), isNumber: true },
    { head: t.field.status, cell: (user) => <Status of={user} />, isLead: true },
    {
      head: t.users.actions,
      isActions: true,
      cell: (user) => <Operations user={user} session={session} onChange={onChange} />,
    },
  ];
  return (
    <>
      <Head title={t.users.title} text={t.users.text}>
        <button class="primary" onClick={() => create({ times: 1, has: [] })}>
          {t.users.create}
        </button>
      </Head>
      {creating !== null && (
        <ActionDialog
          key={creating.times}
          label={t.users.create}
          onClose={() => create(null)}
          onDone={onChange}
          work={async ({ name = '', email = '', permissions }) => {
            const { password } = await cashback.users.create({ name, email, permissions: listOf(permissions) });
            const another = (): void => {
              onChange();
              create({ times: creating.times + 1, has: listOf(permissions) });
            };
            return (
              <>
                <Once text={t.users.passwordOnce(name)} value={password} />
                <p>
                  <button type="button" onClick={another}>
                    {t.users.another}
                  </button>
                </p>
              </>
            );
          }}
        >
          <Field name="name" label={t.users.name} hint={t.users.nameHint} />
          <Field name="email" label={t.login.email} type="email" />
          <Permissions session={session} has={creating.has} />
        </ActionDialog>
      )}
      <PagedTable
        caption={t.users.title}
        columns={columns}
        list={(signal) => cashback.users.list({ limit: 50 }, { signal })}
        on={[version]}
      />
    </>
  );
}

const listOf = (text = ''): Permission[] => text.split(' ').filter((name) => name !== '') as Permission[];

/** What is ticked at first, of what role, and how many times one was chosen. */
interface Ticked {
  ticked: Permission[];
  times: number;
  at?: Role;
}

/** Boxes in two groups, and roles that tick some of them. Nobody can give what they do not have. */
function Permissions({ session, has }: { session: Session; has: Permission[] }): JSX.Element {
  const [{ ticked, times, at }, tick] = useState<Ticked>({ ticked: has, times: 0 });
  const roles = ROLE_ENTRIES.filter(([, role]) => role.every(session.can));
  return (
    <div class="stack" onInput={() => tick({ ticked, times })}>
      <fieldset class="field">
        <legend>{t.users.roles}</legend>
        <p class="buttons">
          {roles.map(([name, role]) => (
            <button
              key={name}
              type="button"
              class="chip"
              aria-pressed={name === at}
              onClick={() => tick({ ticked: role, times: times + 1, at: name })}
            >
              {t.users.role[name]}
            </button>
          ))}
        </p>
      </fieldset>
      {Object.entries(GROUPS).map(([group, names]) => {
        const own = names.filter(session.can);
        return (
          own.length > 0 && (
            <Choice
              key={`${group} ${times}`}
              name="permissions"
              legend={t.users.group[group as keyof typeof GROUPS]}
              options={own.map((name) => [
                name,
                <span key={name}>
                  {t.permission[name]} <small>{t.users.hint[name]}</small>
                </span>,
                ticked.includes(name),
              ])}
            />
          )
        );
      })}
    </div>
  );
}

function Operations(props: { user: User; session: Session; onChange: () => void }): JSX.Element {
  const { user, session, onChange } = props;
  const { id, name, permissions, disabled } = user;
  if (id === session.me.user_id) return <small>{t.users.you}</small>;
  // The service refuses to change a user who may do more.
  if (!permissions.every(session.can)) return <small>{t.users.mayDoMore}</small>;
  return (
    <span class="buttons">
      <Action
        label={t.users.change}
        title={t.users.changeOf(name)}
        onDone={onChange}
        work={async (values) => {
          const next = { name: values.name ?? '', permissions: listOf(values.permissions), disabled };
          await cashback.users.change(id, next);
        }}
      >
        <Field name="name" label={t.users.name} value={name} />
        <Permissions session={session} has={permissions} />
      </Action>
      <Action
        label={t.users.password}
        title={t.users.passwordOf(name)}
        onDone={onChange}
        work={async () => (
          <Once text={t.users.passwordOnce(name)} value={(await cashback.users.renewPassword(id)).password} />
        )}
      >
        <p>{t.users.passwordText}</p>
      </Action>
      <Action
        label={disabled ? t.users.enable : t.users.disable}
        title={disabled ? t.users.enableOf(name) : t.users.disableOf(name)}
        isDangerous={!disabled}
        onDone={onChange}
        work={async () => void (await cashback.users.change(id, { name, permissions, disabled: !disabled }))}
      >
        <p>{disabled ? t.users.enableText : t.users.disableText}</p>
      </Action>
    </span>
  );
}

export const users = (session: Session): JSX.Element => <Users session={session} />;
