#ifndef CAIRN_NN_KERAS_WORDS_H_
#define CAIRN_NN_KERAS_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

namespace cairn::nn {

// What a job file says in place of a word of Keras, PyTorch or their users that has another name
// here, belongs elsewhere in the file, or is not there at all; "" if nothing is known about it. The
// advice follows "unknown field; " or the like. Letters' case and underscores do not matter.
//
// `place` is the message of proto/job.proto in which the word was a field ("Job", "Optimizer"), or
// what it was the name of: "loss", "metric", "optimizer", "schedule", "callback".
std::string_view KerasWord(std::string_view place, std::string_view word);

// For the end of a refusal of an unknown name of a loss, metric, optimizer, schedule or callback:
// the advice, else the nearest known name, and in any case the list of what is known.
std::string UnknownNameText(std::string_view place, std::string_view name,
                            const std::vector<std::string>& known);

}  // namespace cairn::nn

#endif  // CAIRN_NN_KERAS_WORDS_H_
