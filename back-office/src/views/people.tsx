import type { Permission, User } from '@cashback/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { count, instant, t } from '../format.js';
import { cashback, type Session } from '../session.js';
import { Action, Choice, type Column, Field, PagedTable } from '../ui.js';

export function People({ session }: { session: Session }): JSX.Element {
  const [version, changed] = useState(0);
  const onChange = (): void => changed(version + 1);
  const columns: Column<User>[] = [
    {
      head: t.people.name,
      cell: ({ name, email }) => [
        name,
        <small key="email" class="email">
          {email}
        </small>,
      ],
    },
    { head: t.people.permissions, cell: ({ permissions }) => permissions.map((name) => t.permission[name]).join(', ') },
    { head: t.people.lastLogin, cell: (user) => (user.last_login_at ? instant(user.last_login_at) : t.webhooks.never) },
    { head: t.people.sessions, cell: ({ sessions }) => count(sessions), isNumber: true },
    {
      head: t.field.status,
      cell: (user) =>
        user.disabled
          ? t.people.disabled
          : user.locked_out_until
            ? t.people.lockedOut(instant(user.locked_out_until))
            : t.people.active,
    },
    { head: t.people.actions, cell: (user) => <Operations user={user} session={session} onChange={onChange} /> },
  ];
  return (
    <>
      <h1>{t.people.title}</h1>
      <p class="buttons">
        <Action
          label={t.people.create}
          onDone={onChange}
          work={async ({ name = '', email = '', permissions }) =>
            passwordText(
              (await cashback.users.create({ name, email, permissions: permissionsOf(permissions) })).password,
            )
          }
        >
          <Field name="name" label={t.people.name} hint={t.people.nameHint} />
          <Field name="email" label={t.login.email} type="email" />
          <Permissions session={session} has={['sell']} />
        </Action>
      </p>
      <PagedTable
        caption={t.people.title}
        columns={columns}
        list={(signal) => cashback.users.list({ limit: 50 }, { signal })}
        on={[version]}
      />
    </>
  );
}

const permissionsOf = (text = ''): Permission[] => text.split(' ').filter((name) => name !== '') as Permission[];

const passwordText = (password: string): JSX.Element => (
  <p>
    {t.people.passwordOnce} <code>{password}</code>
  </p>
);

/** Nobody can give what they do not have. */
const Permissions = ({ session, has }: { session: Session; has: Permission[] }): JSX.Element => (
  <Choice
    name="permissions"
    legend={t.people.permissions}
    options={session.me.permissions.map((name) => [name, t.permission[name], has.includes(name)])}
  />
);

function Operations({
  user,
  session,
  onChange,
}: {
  user: User;
  session: Session;
  onChange: () => void;
}): JSX.Element | null {
  const { id, name, permissions, disabled } = user;
  if (id === session.me.user_id) return <small>{t.people.you}</small>;
  // The service refuses to change a user who may do more.
  if (!permissions.every(session.can)) return <small>{t.people.mayDoMore}</small>;
  return (
    <span class="buttons">
      <Action
        label={t.people.change}
        title={t.people.changeOf(name)}
        onDone={onChange}
        work={async (values) => {
          const next = { name: values.name ?? '', permissions: permissionsOf(values.permissions), disabled };
          await cashback.users.change(id, next);
        }}
      >
        <Field name="name" label={t.people.name} value={name} />
        <Permissions session={session} has={permissions} />
      </Action>
      <Action
        label={disabled ? t.people.enable : t.people.disable}
        title={disabled ? t.people.enableOf(name) : t.people.disableOf(name)}
        isDangerous={!disabled}
        onDone={onChange}
        work={async () => void (await cashback.users.change(id, { name, permissions, disabled: !disabled }))}
      >
        <p>{disabled ? t.people.enableText : t.people.disableText}</p>
      </Action>
      <Action
        label={t.people.password}
        title={t.people.passwordOf(name)}
        onDone={onChange}
        work={async () => passwordText((await cashback.users.renewPassword(id)).password)}
      >
        <p>{t.people.passwordText}</p>
      </Action>
    </span>
  );
}
