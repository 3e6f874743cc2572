import { fold } from '@crs/kit/text';
import { changeProfile } from '../change-profile.ts';
import { compareLists } from '../domain/compare-lists.ts';
import type { SettingChanges } from '../domain/settings.ts';
import type { TenantUser } from '../domain/tenant.ts';
import { endAccess } from '../store/consents.ts';
import { insertUser, listPresentUsers, setUserDisabled, type UserRow } from '../store/users.ts';
import { refused, toAdded, type Application } from './context.ts';

const DEACTIVATED = 'the directory disabled this user, who stays disabled. To enable them all the same, use `crs user enable`';

export async function applyUsers(application: Application, desired: readonly TenantUser[]): Promise<void> {
  const { organization, query, audit, prune, changes, notes } = application;
  const stored = await query(listPresentUsers(organization));
  const listed = desired.map((user, index) => ({ ...user, index }));
  const { added, changed, removed } = compareLists(listed, stored, ({ email }) => fold(email), userChanges);
  const deactivated = new Set(stored.filter(({ disabledBy }) => disabledBy === 'directory').map(({ email }) => fold(email)));
  for (const { email, disabled, index } of listed) {
    if (disabled === false && deactivated.has(fold(email)))
      notes.push({ field: `users[${index}].disabled`, message: DEACTIVATED });
  }
  for (const { email, name = null, disabled = false, index } of added) {
    const [inserted] = await query(insertUser(organization, { email, name, passwordHash: null }));
    if (!inserted) throw refused(`users[${index}].email`, 'is being deleted; run its deletion again first');
    await audit('user.create', email);
    if (disabled) await setDisabled(application, inserted, true);
    changes.push({ action: 'add', type: 'user', name: email, settings: toAdded({ name, disabled }) });
  }
  for (const { desired: user, stored: before, changes: settings } of changed) {
    const { name, ...status } = settings;
    if (name) {
      await changeProfile(query, organization, before, { email: before.email, name: user.name! });
      await audit('user.update', before.email, { name });
    }
    if (Object.keys(status).length > 0) await setDisabled(application, before, user.disabled!);
    changes.push({ action: 'change', type: 'user', name: before.email, settings });
  }
  if (!prune) return;
  for (const user of removed.filter(({ disabledAt }) => disabledAt === null)) {
    await setDisabled(application, user, true);
    changes.push({ action: 'remove', type: 'user', name: user.email, settings: {} });
  }
}

function userChanges({ name, disabled }: TenantUser, before: UserRow): SettingChanges {
  return {
    ...(name !== undefined && name !== before.name && { name: { from: before.name, to: name } }),
    ...(disabled !== undefined && statusChange(disabled, before.disabledBy)),
  };
}

/** As the directory does, the file enables only whom its own side disabled. */
function statusChange(disabled: boolean, by: string | null): SettingChanges {
  if (disabled) {
    if (by === null) return { disabled: { from: false, to: true } };
    return by === 'directory' ? { disabled_by: { from: 'directory', to: 'operator' } } : {};
  }
  return by === 'operator' ? { disabled: { from: true, to: false } } : {};
}

async function setDisabled({ organization, query, audit }: Application, user: UserRow, disabled: boolean): Promise<void> {
  await query(setUserDisabled(organization, user.email, disabled));
  if (disabled) await endAccess(query, organization, user.userId);
  await audit(disabled ? 'user.disable' : 'user.enable', user.email);
}
