import type { Order, Wallet } from '@cashback/client';
import { toCentavos } from '@cashback/client/money';
import type { JSX } from 'preact';
import { amountOf, day, documentOf, documentText, money, refuse, staffId, t } from '../format.js';
import { Action, Field, Tell } from '../form.js';
import { address, go, useLoad } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { Facts, Money, save } from '../ui.js';

export interface OfCustomer {
  wallet: Wallet;
  session: Session;
  /** Changes when something has changed. */
  version: number;
  onChange: () => void;
}

/** What the user can still grant: it changes with each grant of the day. */
function GrantLimit({ session }: { session: Session }): JSX.Element {
  const { data } = useLoad((signal) => cashback.me({ signal }), []);
  const left = data?.grants_left_today;
  return (
    <>
      {t.grant.amountHint(money(session.policy.grant_maximum))} {left && t.grant.leftToday(money(left))}
    </>
  );
}

type GrantProps = OfCustomer & {
  label: string;
  isPrimary?: boolean;
  /** What expired, and is granted again: once for each credit. */
  again?: { creditId: string; of: string; amount: string; store: string | null };
};

export function Grant({ wallet, session, onChange, label, isPrimary, again }: GrantProps): JSX.Element {
  return (
    <Action
      label={label}
      of={documentText(wallet.document)}
      isPrimary={isPrimary ?? false}
      onDone={onChange}
      preview={({ amount = '', expires_on }) => {
        const most = session.policy.grant_maximum;
        // As the service refuses it, but before somebody confirms.
        if (toCentavos(amountOf(amount)) > toCentavos(most))
          refuse('amount', most, { code: 'grant_exceeds_maximum', maximum: most });
        return (
          <p>
            {t.grant.preview(
              money(amountOf(amount)),
              expires_on ? t.order.through(day(expires_on)) : t.grant.days(session.policy.validity_days),
            )}
          </p>
        );
      }}
      work={async ({ amount = '', reason, note, store, expires_on }, id) => {
        const grant = await cashback.grants.create({
          external_id: again ? `BO-${again.creditId}` : staffId(id),
          document: wallet.document,
          amount: amountOf(amount),
          ...(reason && { reason }),
          ...(note && { note }),
          ...(store && { store }),
          ...(expires_on && { expires_on }),
        });
        return again && grant.replayed ? t.grant.already : undefined;
      }}
    >
      <Field
        name="amount"
        label={t.field.amount}
        inputMode="decimal"
        value={again?.amount.replace('.', ',')}
        hint={<GrantLimit session={session} />}
      />
      <Field
        name="reason"
        label={t.grant.reason}
        hint={t.grant.reasonHint}
        suggestions={t.grant.reasons}
        value={again && t.grant.againReason}
      />
      <Field
        name="note"
        label={t.grant.note}
        hint={t.grant.noteHint}
        value={again && t.grant.againNote(again.of)}
        optional
      />
      <details open={again !== undefined && again.store !== null}>
        <summary>{t.action.moreFields}</summary>
        <div class="pair">
          <Field name="store" label={t.grant.store} value={again?.store ?? undefined} optional />
          <Field name="expires_on" label={t.grant.expiresOn} type="date" optional />
        </div>
      </details>
    </Action>
  );
}

export function Debit({ wallet, onChange }: OfCustomer): JSX.Element {
  return (
    <Action
      label={t.debit.button}
      of={documentText(wallet.document)}
      isDangerous
      onDone={onChange}
      preview={({ amount = '' }) => (
        <>
          <p>{t.debit.preview(money(amountOf(amount)))}</p>
          {toCentavos(amountOf(amount)) > toCentavos(wallet.available) + toCentavos(wallet.pending) && (
            <p class="warning">{t.debit.less}</p>
          )}
          <Facts
            of={[
              [t.customer.available, <Money of={wallet.available} />],
              [t.customer.pending, <Money of={wallet.pending} />],
            ]}
          />
        </>
      )}
      work={async ({ amount = '', reason = '', note, take }, id) => {
        const debit = await cashback.debits.create({
          external_id: staffId(id),
          document: wallet.document,
          amount: amountOf(amount),
          reason,
          ...(note && { note }),
          ...(take && { take: 'available' as const }),
        });
        return t.debit.done(money(debit.amount), debit.amount === debit.requested_amount);
      }}
    >
      <p class="soft">{t.debit.text}</p>
      <Field name="amount" label={t.field.amount} inputMode="decimal" />
      <Field name="reason" label={t.field.reason} suggestions={t.debit.reasons} />
      <Field name="note" label={t.grant.note} hint={t.grant.noteHint} optional />
      <label class="check">
        <input type="checkbox" name="take" value="available" /> {t.debit.take}
      </label>
    </Action>
  );
}

export function Freeze({ wallet, onChange }: OfCustomer): JSX.Element {
  const { id, frozen, document } = wallet;
  return (
    <Action
      label={frozen ? t.freeze.undo : t.freeze.button}
      of={documentText(document)}
      isDangerous={!frozen}
      onDone={onChange}
      work={async ({ reason = '' }) => void (await cashback.wallets.freeze(id ?? '', { frozen: !frozen, reason }))}
    >
      <p>{frozen ? t.freeze.undoText : t.freeze.text}</p>
      <Field name="reason" label={t.field.reason} />
    </Action>
  );
}

/** A CPF is corrected at the order that has the wrong one. */
export const Correct = ({ orders }: { orders: Order[] }): JSX.Element => (
  <Tell label={t.correct.button}>
    <p>{t.correct.where}</p>
    <ul>
      {orders.map(({ id, external_id }) => (
        <li key={id}>
          <a href={address(`order/${id}`)} onClick={({ currentTarget }) => currentTarget.closest('dialog')?.close()}>
            {external_id}
          </a>
        </li>
      ))}
    </ul>
  </Tell>
);

export const Export = ({ wallet }: OfCustomer): JSX.Element => (
  <Action
    label={t.privacy.exportButton}
    work={async () => {
      const all = await cashback.customers.export({ document: wallet.document });
      save(JSON.stringify(all, null, 2), 'application/json', 'export.json');
    }}
  >
    <p>{t.privacy.exportText}</p>
    <p class="soft">{t.privacy.kept}</p>
  </Action>
);

export const Erase = ({ wallet }: OfCustomer): JSX.Element => (
  <Action
    label={t.privacy.eraseButton}
    isDangerous
    onDone={() => go('')}
    work={async ({ confirm = '' }) => {
      await cashback.customers.erase({ document: wallet.document, confirm: documentOf(confirm) });
    }}
  >
    <p>{t.privacy.eraseText}</p>
    <Facts
      of={[
        [t.privacy.lost, ''],
        [t.customer.available, <Money of={wallet.available} />],
        [t.customer.pending, <Money of={wallet.pending} />],
        [t.customer.held, <Money of={wallet.held} />],
      ]}
    />
    <Field name="confirm" label={t.privacy.confirm} />
  </Action>
);

/** Support has to know whom to ask. */
export const PrivacyHint = (): JSX.Element => (
  <Tell label="LGPD">
    <p>{t.privacy.ask}</p>
    <p class="soft">{t.privacy.kept}</p>
  </Tell>
);
