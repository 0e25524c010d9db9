/*
 * cmd_list.h - every command, in the order that help shows them. A row: CMD(name); see cmd.h.
 */
#ifndef CMD
#define CMD(name) extern const struct cmd cmd_##name;
#endif
/* clang-format off */
CMD(run)
CMD(status)
CMD(logs)
CMD(get)
CMD(describe)
CMD(cancel)
CMD(history)
CMD(engine)
CMD(worker)
CMD(replay)
CMD(purge)
CMD(upgrade)
CMD(init)
CMD(doctor)
CMD(selftest)
CMD(config)
CMD(sandboxes)
CMD(completion)
CMD(version)
CMD(complete)
CMD(guest)
CMD(sandbox_supervisor)
