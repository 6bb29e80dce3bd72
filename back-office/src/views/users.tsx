import type { Permission, User } from '@cashback/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { count, instant, t } from '../format.js';
import { cashback, type Session } from '../session.js';
import { Heading } from '../ui.js';
import { Action, Choice, Field } from '../form.js';
import { type Column, PagedTable } from '../table.js';

export function Users({ session }: { session: Session }): JSX.Element {
  const [version, changed] = useState(0);
  const onChange = (): void => changed(version + 1);
  const columns: Column<User>[] = [
    {
      head: t.users.name,
      cell: ({ name, email }) => [
        name,
        <small key="email" class="email">
          {email}
        </small>,
      ],
    },
    { head: t.users.permissions, cell: ({ permissions }) => permissions.map((name) => t.permission[name]).join(', ') },
    { head: t.users.lastLogin, cell: (user) => (user.last_login_at ? instant(user.last_login_at) : t.webhooks.never) },
    { head: t.users.sessions, cell: ({ sessions }) => count(sessions), isNumber: true },
    {
      head: t.field.status,
      cell: (user) =>
        user.disabled
          ? t.users.disabled
          : user.locked_out_until
            ? t.users.lockedOut(instant(user.locked_out_until))
            : t.users.active,
    },
    {
      head: t.users.actions,
      isActions: true,
      cell: (user) => <Operations user={user} session={session} onChange={onChange} />,
    },
  ];
  return (
    <>
      <Heading title={t.users.title} />
      <p class="buttons">
        <Action
          label={t.users.create}
          onDone={onChange}
          work={async ({ name = '', email = '', permissions }) =>
            passwordText(
              (await cashback.users.create({ name, email, permissions: permissionsOf(permissions) })).password,
            )
          }
        >
          <Field name="name" label={t.users.name} hint={t.users.nameHint} />
          <Field name="email" label={t.login.email} type="email" />
          <Permissions session={session} has={['sell']} />
        </Action>
      </p>
      <PagedTable
        caption={t.users.title}
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
    {t.users.passwordOnce} <code>{password}</code>
  </p>
);

/** Nobody can give what they do not have. */
const Permissions = ({ session, has }: { session: Session; has: Permission[] }): JSX.Element => (
  <Choice
    name="permissions"
    legend={t.users.permissions}
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
          const next = { name: values.name ?? '', permissions: permissionsOf(values.permissions), disabled };
          await cashback.users.change(id, next);
        }}
      >
        <Field name="name" label={t.users.name} value={name} />
        <Permissions session={session} has={permissions} />
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
      <Action
        label={t.users.password}
        title={t.users.passwordOf(name)}
        onDone={onChange}
        work={async () => passwordText((await cashback.users.renewPassword(id)).password)}
      >
        <p>{t.users.passwordText}</p>
      </Action>
    </span>
  );
}

export const users = (session: Session): JSX.Element => <Users session={session} />;
