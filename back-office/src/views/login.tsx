import { CashbackError } from '@cashback/client';
import type { JSX } from 'preact';
import { t } from '../format.js';
import { useSubmit } from '../hooks.js';
import { Logo } from '../icons.js';
import { logIn, type Session } from '../session.js';
import { Heading, InputError, Problem } from '../ui.js';

interface LoginProps {
  onSession: (session: Session) => void;
  note?: unknown;
  /** Over what the user was doing, which can have a dialog of its own. */
  isModal?: boolean;
}

export function Login({ onSession, note, isModal }: LoginProps): JSX.Element {
  const {
    isBusy,
    error = note,
    submit,
  } = useSubmit(async ({ email = '', password = '' }) => onSession(await logIn(email, password)));
  const form = (
    <>
      <Logo />
      {isModal ? <h2>{t.login.ended}</h2> : <Heading title={t.title} />}
      <form onSubmit={submit}>
        <p class="field">
          <label for="email">{t.login.email}</label>
          <input id="email" name="email" type="email" autocomplete="username" required />
        </p>
        <p class="field">
          <label for="password">{t.login.password}</label>
          <input id="password" name="password" type="password" autocomplete="current-password" required />
        </p>
        {error !== undefined && (
          <Problem error={isRefused(error) ? new InputError(t.problems.invalid_credentials) : error} />
        )}
        <button class="primary" disabled={isBusy}>
          {isBusy ? t.action.working : t.login.logIn}
        </button>
      </form>
      <details>
        <summary>{t.login.forgot}</summary>
        <p class="soft">{t.login.forgotText}</p>
      </details>
    </>
  );
  if (!isModal) return <main class="login">{form}</main>;
  return (
    <dialog class="login" ref={showModal} aria-label={t.login.logIn} onCancel={(event) => event.preventDefault()}>
      {form}
    </dialog>
  );
}

/** A password that no user can have is a wrong one. */
const isRefused = (error: unknown): boolean => error instanceof CashbackError && error.status === 400;

const showModal = (dialog: HTMLDialogElement | null): void => dialog?.showModal();
