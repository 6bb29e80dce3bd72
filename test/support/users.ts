import { ApiUsersService } from '../../src/auth/api-users.service.js';
import { UnitOfWork } from '../../src/platform/database/unit-of-work.js';
import type { Permission } from '../../src/platform/values/caller.js';
import type { Service } from './service.js';

/** Changes an API user in the service's process, as a change over HTTP does. */
export async function changeUser(
  service: Pick<Service, 'app'>,
  { userId, email }: { userId: string; email: string },
  { password, ...changes }: { password?: string; name?: string; permissions?: Permission[]; isDisabled?: boolean },
): Promise<void> {
  const users = service.app.get(ApiUsersService);
  const passwordHash = password === undefined ? undefined : await users.hash(password, email);
  await service.app.get(UnitOfWork).transaction(async (manager) => {
    const [user] = await users.lock(manager, [userId]);
    await users.change(manager, user!, { ...changes, ...(passwordHash !== undefined && { passwordHash }) });
  });
}
