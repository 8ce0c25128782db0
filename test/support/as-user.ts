/** A group of which the users of {@link asUser} are members. */
export const SHARED_GROUP = 64_005;

/** Acts as another user and its group, as root alone can. */
export function asUser<Result>(user: number, act: () => Result): Result {
  const groups = process.getgroups?.() ?? [];
  process.setgroups?.([SHARED_GROUP]);
  process.setegid?.(user);
  process.seteuid?.(user);
  try {
    return act();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
    process.setgroups?.(groups);
  }
}
