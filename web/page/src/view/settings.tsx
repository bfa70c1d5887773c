// Owns the mode and the options of a session, below the prompt box.
import type { Session } from "../wire/session.js";
import { visibleText } from "../text/visible.js";

export function Settings({ session, locked }: { session: Session; locked: boolean }) {
  const info = session.state?.session;
  if (!info) return null;
  const mode = info.modes.find(({ id }) => id === info.mode);
  return (
    <div class="settings">
      {info.modes.length > 0 && (
        <Choice
          name="Mode"
          hint={mode?.description ?? ""}
          value={info.mode}
          choices={info.modes.map(({ id, name }) => ({ value: id, name }))}
          locked={locked}
          onChoose={(permissionMode) => session.send({ type: "configure", config: { permissionMode } })}
        />
      )}
      {info.options.map((option) => (
        <Choice
          key={option.id}
          name={option.name}
          hint={option.description}
          value={option.value}
          choices={option.choices}
          locked={locked}
          onChoose={(value) => session.send({ type: "configure", config: { [option.id]: value } })}
        />
      ))}
    </div>
  );
}

type Props = {
  name: string;
  hint: string;
  value: string;
  choices: { value: string; name: string }[];
  locked: boolean;
  onChoose: (value: string) => boolean;
};

function Choice({ name, hint, value, choices, locked, onChoose }: Props) {
  const known = choices.some((choice) => choice.value === value) ? choices : [{ value, name: value }, ...choices];
  return (
    <label class="choice" title={visibleText(hint)}>
      <span>{visibleText(name)}</span>
      <select
        value={value}
        disabled={locked}
        onChange={(event) => {
          const select = event.currentTarget;
          const chosen = select.value;
          // The server decides: the old value is shown until its answer arrives.
          select.value = value;
          onChoose(chosen);
        }}
      >
        {known.map((choice) => <option key={choice.value} value={choice.value}>{visibleText(choice.name)}</option>)}
      </select>
    </label>
  );
}
