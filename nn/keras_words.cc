#include "nn/keras_words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/nearest_name.h"

namespace cairn::nn {
namespace {

struct Advice {
  const char* place;
  const char* words;  // In lower case, without underscores, parted by spaces.
  const char* text;
};

// Words that one typing error makes of a known name are not here: NearestName finds those.
constexpr Advice kAdvices[] = {
    // The arguments of fit and compile.
    {"Job", "batch bs minibatchsize trainbatchsize", R"(here it is "batch_size")"},
    {"Job", "nbepoch nbepochs nepochs numepochs numtrainepochs maxepochs",
     R"(here it is "epochs")"},
    {"Job", "maxsteps numsteps nsteps trainsteps totalsteps iterations",
     R"(here it is "steps", in place of "epochs")"},
    {"Job", "validationsplit valsplit validationratio",
     R"(here it is "validation_fraction": of the last rows, as in Keras, unless )"
     R"("validation_choice" is "random")"},
    {"Job",
     "validationdata validationset valdata val valid test testdata evaldata xval yval xtest ytest",
     R"(here it is "validation", which says where its examples are, as "train" does)"},
    {"Job", "validationbatchsize",
     R"("validation" is evaluated in batches of "batch_size", which changes no result; leave it )"
     "out"},
    {"Job", "validationfrequency valfreq evalfreq evaluateevery checkvaleverynepoch",
     R"(here it is "validation_freq")"},
    {"Job", "valsteps evalsteps limitvalbatches", R"(here it is "validation_steps")"},
    {"Job", "limittrainbatches batchesperepoch", R"(here it is "steps_per_epoch")"},
    {"Job", "droplast dropremainder", R"(say "train": {"drop_remainder": true})"},
    {"Job", "rows take skip",
     R"(it is a field of "train" and of "validation": "rows": [0, 50000])"},
    {"Job", "sampleweight sampleweights",
     R"(it is a field of "train": a .npy file with one number for each example)"},
    {"Job", "verbose",
     "cairn run and cairn follow show the progress, for programs with --json; leave it out"},
    {"Job", "returndict", "cairn evaluate JOB --json prints an object; leave it out"},
    {"Job", "compile fit", "what stands in it are fields of the job itself"},
    {"Job", "criterion lossfn lossfunction objective", R"(here it is "loss")"},
    {"Job", "optim", R"(here it is "optimizer")"},

    {"Job",
     "runeagerly jitcompile stepsperexecution autoscaleloss maxqueuesize usemultiprocessing "
     "device devices gpus",
     "a job file does not choose it; leave it out"},
    {"Job", "mixedprecision dtype dtypepolicy",
     R"(here it is "precision": "mixed_bfloat16" or "mixed_float16")"},
    {"Job", "workers numworkers ps threads",
     "it is not the job's but the cluster's: cairn run --workers N --ps N"},
    {"Job",
     "x y xtrain ytrain features labels inputs targets data dataset traindata trainingdata "
     "training npy idx csv cifar10 cifar100 npz tfrecord images parquet text files",
     R"(say where the examples are: "train": {"npy": {"features": "x.npy", "labels": "y.npy"}})"},
    {"Job", "scale rescale onehot standardize allownan",
     R"(it is a field of "train" and of "validation")"},
    {"Job", "normalize normalise",
     R"(here it is "standardize", a field of "train"; "scale" multiplies by a number)"},
    {"Job", "architecture network modelfile modelpath layers",
     R"(here it is "model", the name of a file that Keras's model.to_json() wrote)"},
    {"Job", "weights initialweights loadweights loadmodel pretrained warmstart initfrom",
     R"(trained values to start from are "resume_from": another job, or a TF.js model's model.json)"},
    {"Job", "randomseed randomstate rngseed", R"(here it is "seed")"},
    {"Job", "output outputdir export savepath logdir checkpointdir filepath statedir",
     "it is not the job's: cairn run --state DIR --export DIR"},

    // What stands one level deeper.
    {"Job", "lr learningrate",
     R"(it is an argument of the optimizer: "optimizer": {"name": "adam", "learning_rate": 0.001})"},
    {"Job",
     "momentum nesterov beta1 beta2 betas epsilon rho amsgrad weightdecay clipvalue clipnorm "
     "globalclipnorm useema emamomentum",
     R"(it is an argument of the optimizer; say it under "optimizer", beside its "name")"},
    {"Job", "gradclip gradientclip clipgradnorm maxgradnorm clip",
     R"(clipping is an argument of the optimizer: "clipvalue", "clipnorm" or "global_clipnorm")"},
    {"Job", "decay schedule lrschedule lrscheduler learningrateschedule scheduler",
     R"(a rate that changes is said under "optimizer": "learning_rate": {"name": )"
     R"("exponential_decay", "initial_learning_rate": 0.1, "decay_steps": 1000, "decay_rate": 0.9})"},
    {"Job", "fromlogits labelsmoothing delta",
     R"(it is an argument of the loss; say it under "loss", beside its "name")"},
    {"Job",
     "earlystopping reducelronplateau modelcheckpoint terminateonnan csvlogger backupandrestore "
     "learningratescheduler learningratewarmup",
     R"(it is a callback: "callbacks": [{"name": "early_stopping", "patience": 3}])"},
    {"Job",
     "monitor patience mindelta restorebestweights savebestonly baseline factor cooldown "
     "minlr startfromepoch initialvaluethreshold",
     R"(it is an argument of a callback: "callbacks": [{"name": "early_stopping", "patience": 3}])"},
    {"Job", "everysteps savefreq saveevery savesteps checkpointevery checkpointfreq",
     R"(say "checkpoint": {"every_steps": 200})"},
    {"Job", "keep maxtokeep savetotallimit", R"(say "checkpoint": {"keep": 3})"},
    {"Job", "mode sync async synchronous parameterserver distributestrategy",
     R"(say "strategy": {"parameter_server": {"mode": "sync"}}, or "async" or "stale")"},
    {"Job", "mirrored mirroredstrategy multiworkermirrored multiworkermirroredstrategy horovod ddp",
     R"(say "strategy": {"multi_worker_mirrored": {}}, or {"mirrored": {}} for one worker)"},
    {"Job", "onedevice onedevicestrategy centralstorage centralstoragestrategy devices device",
     R"(say "strategy": {"one_device": {"device": "cpu"}}, or "central_storage" or "mirrored")"},
    {"Job", "window staleness",
     R"(say "strategy": {"parameter_server": {"mode": "stale", "window": 8}})"},
    {"Job", "batchesperupdate gradientaccumulationsteps accumulategradbatches",
     R"(say "strategy": {"parameter_server": {"mode": "sync", "batches_per_update": 4}})"},
    {"Job", "minslicebytes", R"(say "partitioner": {"min_slice_bytes": 262144})"},
    {"Job", "variablepartitioner", R"(here it is "partitioner")"},
    {"Job", "placement roundrobin", R"(say "partitioner": {"placement": "round_robin"})"},

    // Partitioners of TensorFlow.
    {"Partitioner", "fixedshardspartitioner fixedsizepartitioner numshards",
     R"(here it is "fixed_shards": 4)"},
    {"Partitioner",
     "minsizepartitioner minmaxvariablepartitioner minshardbytes maxpartitions minslicesize",
     R"(here it is "min_size": {"min_shard_bytes": 262144, "max_shards": 4})"},
    {"Partitioner", "maxsizepartitioner variableaxissizepartitioner maxshardbytes maxshards",
     R"(here it is "max_size": {"max_shard_bytes": 1048576})"},
    {"Partitioner", "roundrobin", R"(say "placement": "round_robin")"},
    {"Partitioner", "name kind",
     R"(each kind is a field: "fixed_shards": 4, "min_size": {"max_shards": 4} ...)"},
    {"MinSizePartitioner", "minslicesize", R"(here it is "min_shard_bytes")"},
    {"MinSizePartitioner MaxSizePartitioner", "maxpartitions numshards",
     R"(here it is "max_shards")"},
    {"Partitioner MinSizePartitioner MaxSizePartitioner", "axis",
     "variables are divided along their first axis; leave it out"},
    {"Partitioner MinSizePartitioner MaxSizePartitioner", "bytesperstring bytesperstringelement",
     "no variable is a string; leave it out"},

    // Several models.
    {"ModelObjective", "metrics",
     "a job of several models reports the loss of each objective, and no metrics; leave it out"},
    {"ModelObjective", "loss", R"(here it is "losses")"},
    {"ModelObjective", "model models trainable variables", R"(here it is "trains")"},
    {"ModelLoss", "label labels y ytrue", R"(here it is "target")"},
    {"ModelLoss", "output outputs ypred x", R"(here it is "of")"},
    {"ModelLoss", "lossweight lossweights", R"(here it is "weight")"},

    // Data.
    {"DataSource", "x y features feature labels label inputs targets data",
     R"(it is a field of the format: {"npy": {"features": "x.npy", "labels": "y.npy"}})"},
    {"DataSource", "file files path paths filename filenames",
     R"(it is a field of the format: {"csv": {"files": "data.csv", "labels": "y"}})"},
    {"DataSource", "header delimiter columns missing", R"(it is a field of "csv")"},
    {"DataSource", "numpy",
     R"(the format is "npy", as numpy.save writes it, or "npz", as numpy.savez does)"},
    {"DataSource", "tfrecords tfrecorddataset example",
     R"(the format is "tfrecord": {"files": "*.tfrecord", "features": "x", "labels": "y"})"},
    {"DataSource",
     "imagedatasetfromdirectory imagefolder flowfromdirectory directory folder folders jpeg png",
     R"(the format is "images": {"directory": "flowers/train"}, with a folder for each class)"},
    {"DataSource", "textdatasetfromdirectory textlinedataset lines",
     R"(the format is "text": {"files": "train.tsv"}, or {"directory": "train"} with a folder for each class)"},
    {"DataSource", "readparquet pq arrow",
     R"(the format is "parquet": {"files": "*.parquet", "features": "x", "labels": "y", "filter": "x > 0"})"},
    {"DataSource", "mnist fashionmnist ubyte", R"(the format is "idx")"},
    {"DataSource", "rescale multiply factor",
     R"(here it is "scale", by which features are multiplied)"},
    {"DataSource", "normalize normalise normalization standardise",
     R"(here it is "standardize"; "scale" multiplies by a number)"},
    {"DataSource", "tocategorical categorical numclasses", R"(here it is "one_hot": true)"},
    {"DataSource", "take skip shard filter filters window timeseries",
     R"(it is a step: "pipeline": [{"take": 1000}])"},
    {"DataSource", "cast onehotencode hash hashing pad resize crop flip cache augment",
     R"(it is a step: "pipeline": [{"flip": "horizontal"}])"},
    {"PipelineStep", "randomflip randomflipleftright fliplr mirror",
     R"(here it is "flip": "horizontal")"},
    {"PipelineStep", "randomflipupdown flipud", R"(here it is "flip": "vertical")"},
    {"PipelineStep", "randomcrop centercrop centralcrop",
     R"(here it is "crop": {"size": [224, 224], "random": true}, or without "random")"},
    {"PipelineStep", "resizing", R"(here it is "resize": {"size": [224, 224]})"},
    {"PipelineStep", "normalization standardize standardise", R"(here it is "normalize")"},
    {"PipelineStep", "categoryencoding onehotencode", R"(here it is "one_hot": 10)"},
    {"PipelineStep", "hashing", R"(here it is "hash": {"num_bins": 1000})"},
    {"PipelineStep", "integerlookup lookup", R"(here it is "vocabulary": {"numbers": [7, 12]})"},
    {"PipelineStep", "stringlookup",
     R"(names have a "vocabulary" in the description of their column)"},
    {"PipelineStep", "padsequences padding", R"(here it is "pad": {"length": 20})"},
    {"PipelineStep", "rescaling scale", R"("scale" stands beside the pipeline)"},
    {"DataSource PipelineStep", "batch rebatch batchsize", R"(it is the job's "batch_size")"},
    {"PipelineStep", "shuffle", R"(it is a field of the job: "shuffle": true)"},
    {"Job DataSource PipelineStep", "repeat",
     R"(the job repeats the data for its "epochs", "steps" or "steps_per_epoch"; leave it out)"},
    {"Job DataSource PipelineStep", "prefetch autotune numparallelcalls buffersize",
     "the next batch is always read while one is computed; leave it out"},
    {"Job DataSource PipelineStep", "reshuffleeachiteration",
     "each epoch has an order of its own; leave it out"},
    {"Job DataSource PipelineStep", "map",
     R"(steps change values, such as "pipeline": [{"cast": "int32"}], and so do layers of the model)"},
    {"Job PipelineStep", "zip",
     R"(here it is "zip", in place of the format: {"zip": [{"source": {...}, "inputs": "x"}, ...]})"},
    {"Job DataSource PipelineStep", "interleave concatenate listfiles",
     "a format takes patterns and lists of files, whose rows follow each other"},
    {"Job DataSource PipelineStep", "samplefromdatasets choosefromdatasets",
     R"(here it is "mix", in place of the format: {"mix": [{"source": {...}, "weight": 0.5}, ...]})"},
    {"Job DataSource PipelineStep", "fromtensorslices fromtensors fromgenerator",
     R"(the format is "npy", as numpy.save writes it)"},
    {"Job DataSource PipelineStep",
     "flatmap unbatch enumerate reduce apply scan takewhile unique groupbywindow "
     "rejectionresample",
     "a job runs no Python; apply it to the data before the job"},
    {"Job DataSource PipelineStep", "paddedbatch raggedbatch sparsebatch bucketbysequencelength",
     R"(all examples get one length: "pipeline": [{"pad": {"length": 20}}])"},
    {"Job DataSource PipelineStep", "snapshot", R"(it is a step: "pipeline": [{"cache": {}}])"},
    {"Job DataSource PipelineStep", "ignoreerrors",
     R"(here it is "skip_damaged" of "train", a number of rows)"},
    {"Job DataSource PipelineStep", "options withoptions autoshardpolicy",
     "the coordinator gives each batch to one worker; leave it out"},
    {"Job", "shard filter cache pipeline mix skipdamaged",
     R"(it is a field of "train", or a step of its "pipeline")"},
    {"DataSource", "slice range split subset",
     R"(here it is "rows": [first, end]: the rows from the first to the one before the end)"},
    {"DataSource", "droplast", R"(here it is "drop_remainder")"},
    {"DataSource", "shuffle seed validationfraction validationsplit classweight",
     "it is a field of the job, not of its data"},
    {"NpySource IdxSource", "x input inputs data images file files path",
     R"(here it is "features")"},
    {"NpySource IdxSource", "y target targets output outputs classes", R"(here it is "labels")"},
    {"ImagesSource", "folder folders file files path paths root data", R"(here it is "directory")"},
    {"ImagesSource", "flowfromdataframe dataframe csv parquet", R"(here it is "table")"},
    {"ImagesSource", "xcol filename", R"(here it is "path_column")"},
    {"ImagesSource", "ycol", R"(here it is "label_column")"},
    {"ImagesSource", "size targetsize imgsize shape height width",
     R"(here it is "image_size": [height, width])"},
    {"ImagesSource", "channels numchannels mode grayscale rgb rgba", R"(here it is "color_mode")"},
    {"ImagesSource", "classes", R"(here it is "class_names")"},
    {"ImagesSource", "labels labelmode classmode",
     "the folders are the classes, and their order is the labels; leave it out"},
    {"ImagesSource", "batchsize shuffle seed validationfraction validationsplit",
     "it is a field of the job, not of its data"},
    {"NpySource IdxSource CsvSource Cifar10Source Cifar100Source ImagesSource",
     "scale standardize onehot allownan sampleweight sampleweights",
     "it stands beside the format, not in it"},
    {"CsvSource", "path paths filename filenames", R"(here it is "files")"},
    {"CsvSource", "x input inputs columns", R"(here it is "features")"},
    {"CsvSource", "y target targets labelcolumn class", R"(here it is "labels")"},
    {"CsvSource", "sep separator", R"(here it is "delimiter")"},
    {"CsvSource", "navalues nullvalues", R"(here it is "missing")"},
    {"CsvColumn", "column key header", R"(here it is "name")"},
    {"CsvColumn", "default fill fillna fillvalue", R"(here it is "missing")"},
    {"CsvColumn", "vocab categories classes values", R"(here it is "vocabulary")"},

    // Optimizers.
    {"Optimizer", "lr rate", R"(here it is "learning_rate")"},
    {"Optimizer", "decay",
     R"(a rate that falls is a schedule: "learning_rate": {"name": "inverse_time_decay", )"
     R"("initial_learning_rate": 0.01, "decay_steps": 1, "decay_rate": 0.001} is Keras 2's decay )"
     "0.001"},
    {"Optimizer",
     "schedule lrschedule lrscheduler learningrateschedule scheduler initiallearningrate "
     "decaysteps "
     "decayrate warmupsteps",
     R"(a schedule is said as "learning_rate": {"name": "exponential_decay", )"
     R"("initial_learning_rate": 0.1, "decay_steps": 1000, "decay_rate": 0.9})"},
    {"Optimizer", "betas", R"(here they are "beta_1" and "beta_2")"},
    {"Optimizer", "eps", R"(here it is "epsilon")"},
    {"Optimizer", "l2 l2regularization",
     R"(decay of all weights is "weight_decay"; an L2 regularizer is said in the model's layers)"},
    {"Optimizer", "clip gradclip gradientclip maxgradnorm gradientclipping",
     R"(say one of "clipvalue", "clipnorm" and "global_clipnorm")"},
    {"Optimizer", "gradientaccumulationsteps",
     R"(it is the job's "strategy": {"parameter_server": {"mode": "sync", "batches_per_update": 4}})"},
    {"Optimizer", "jitcompile islegacyoptimizer lossscalefactor",
     "there is no such choice; leave it out"},
    {"LearningRateSchedule", "lr learningrate rate baselr",
     R"(here it is "initial_learning_rate")"},
    {"LearningRateSchedule", "gamma", R"(here it is "decay_rate")"},
    {"LearningRateSchedule", "steps stepsize tmax", R"(here it is "decay_steps")"},
    {"LearningRateSchedule", "milestones", R"(here it is "boundaries")"},
    {"LearningRateSchedule", "warmup", R"(here it is "warmup_steps")"},

    // Losses, metrics, callbacks.
    {"Loss", "logits", R"(here it is "from_logits")"},
    {"Loss", "smoothing", R"(here it is "label_smoothing")"},
    {"Loss", "weight lossweight lossweights", R"(it is the job's "loss_weights")"},
    {"Loss", "classweight classweights", R"(it is the job's "class_weight")"},
    {"Callback", "epsilon", R"(here it is "min_delta")"},
    {"Callback", "metric", R"(here it is "monitor")"},
    {"Callback", "restorebest", R"(here it is "restore_best_weights")"},
    {"Callback", "savebest", R"(here it is "save_best_only")"},
    {"Callback", "minlearningrate", R"(here it is "min_lr")"},
    {"Callback", "momentumcorrection", "a warm-up leaves the momentum as it is; leave it out"},
    {"Callback", "stepsperepoch", "the job knows it; leave it out"},
    {"Callback", "rates table", R"(here it is "schedule")"},
    {"Callback", "sep delimiter", R"(here it is "separator")"},
    {"Callback", "filepath", "checkpoints lie in the state directory; leave it out"},
    {"Callback", "raiseerror", "the job always fails, as with true; leave it out"},
    {"Callback", "saveweightsonly", "a checkpoint has the optimizer's state too; leave it out"},
    {"Callback", "verbose", "what a callback decides is always shown; leave it out"},
    {"Callback", "period",
     R"(every epoch has a checkpoint; for more of them say "save_freq", in batches)"},
    {"Loss Metric Optimizer LearningRateSchedule Callback",
     "classname config registeredname module",
     R"(name and arguments stand in one object: {"name": ..., ARGUMENT: ...})"},

    // The rest of a job.
    {"CheckpointPolicy", "steps every everynsteps savefreq freq frequency interval",
     R"(here it is "every_steps")"},
    {"CheckpointPolicy", "maxtokeep max savetotallimit", R"(here it is "keep")"},
    {"CheckpointPolicy", "replicas", R"(here it is "copies")"},
    {"CheckpointPolicy", "epochs everynepochs", R"(here it is "every_epochs")"},
    {"CheckpointPolicy", "seconds savecheckpointssecs", R"(here it is "every_seconds")"},
    {"CheckpointPolicy", "dir directory path filepath folder",
     "checkpoints lie in the state directory (cairn run --state DIR); leave it out"},
    {"CheckpointPolicy", "savebestonly monitor",
     R"(it is the job's "callbacks": [{"name": "model_checkpoint", "save_best_only": true}])"},
    {"Strategy", "mode window batchesperupdate", R"(it is a field of "parameter_server")"},
    {"Strategy", "parameterserverstrategy", R"(here it is "parameter_server")"},
    {"Strategy", "multiworkermirroredstrategy horovod ddp",
     R"(here it is "multi_worker_mirrored")"},
    {"Strategy", "mirroredstrategy", R"(here it is "mirrored")"},
    {"Strategy", "centralstoragestrategy", R"(here it is "central_storage")"},
    {"Strategy", "onedevicestrategy", R"(here it is "one_device")"},
    {"MultiWorkerMirroredStrategy MirroredStrategy",
     "communication communicationoptions collectivecommunication implementation "
     "crossdeviceops nccl ring hierarchicalcopy reductiontoonedevice",
     "there is one way, with the same bits for any number of workers: the gradients of a block are "
     "reduced in the order of the batches where the block is; leave it out"},
    {"MultiWorkerMirroredStrategy MirroredStrategy", "bytesperpack numpacks fusionthreshold",
     "gradients travel in requests of 1 MiB, small ones together; leave it out"},
    {"MultiWorkerMirroredStrategy", "timeoutseconds timeout",
     "nothing waits for a lost worker for long: the others go on after coordinator "
     "--rejoin_timeout; leave it out"},
    {"CentralStorageStrategy", "devices", R"(here it is "compute_devices")"},
    {"OneDeviceStrategy", "devices", R"(here it is "device")"},
    {"ParameterServerStrategy", "staleness maxstaleness", R"(here it is "window")"},
    {"ParameterServerStrategy", "sync async synchronous", R"(say "mode": "sync", or "async")"},
    {"ParameterServerStrategy", "gradientaccumulationsteps", R"(here it is "batches_per_update")"},
    {"ResumeFrom", "job path file", R"(here it is "name")"},

    // Names.
    {"loss metric", "crossentropy crossentropyloss logloss nll nllloss",
     "say 'sparse_categorical_crossentropy' where labels are class numbers, "
     "'categorical_crossentropy' where they are vectors, 'binary_crossentropy' where they are 0 or "
     "1"},
    {"loss metric", "scce", "say 'sparse_categorical_crossentropy'"},
    {"loss metric", "cce", "say 'categorical_crossentropy'"},
    {"loss metric", "bceloss", "say 'binary_crossentropy'"},
    {"loss metric", "bcewithlogits bcewithlogitsloss",
     R"(say {"name": "binary_crossentropy", "from_logits": true})"},
    {"loss metric", "l1 l1loss", "say 'mean_absolute_error'"},
    {"loss metric", "l2 l2loss mseloss", "say 'mean_squared_error'"},
    {"loss metric", "smoothl1 smoothl1loss", "say 'huber'"},
    {"loss", "rmse rootmeansquarederror", "it is a metric; as a loss say 'mean_squared_error'"},
    {"loss", "accuracy acc auc precision recall", "it is a metric; say it under \"metrics\""},
    {"metric", "logcosherror", "say 'log_cosh'"},
    {"metric", "f1", R"(say {"name": "f1_score", "average": "macro"})"},
    {"metric", "fbeta", R"(say {"name": "fbeta_score", "average": "macro", "beta": 2})"},
    {"metric", "r2", "say 'r2_score'"},
    {"metric", "rocauc auroc", "say 'auc'"},
    {"metric", "prauc auprc averageprecision", R"(say {"name": "auc", "curve": "PR"})"},
    {"metric", "sensitivity tpr", "say 'recall'"},
    {"metric", "topk topkaccuracy top5 top5accuracy",
     R"(say {"name": "sparse_top_k_categorical_accuracy", "k": 5}, or "top_k_categorical_accuracy")"},
    {"optimizer", "momentum", R"(say {"name": "sgd", "momentum": 0.9})"},
    {"optimizer", "nesterov", R"(say {"name": "sgd", "momentum": 0.9, "nesterov": true})"},
    {"schedule", "cosine cosineannealing cosineannealinglr", "say 'cosine_decay'"},
    {"schedule", "exponential exponentiallr", "say 'exponential_decay'"},
    {"schedule", "linear linearlr polynomial", "say 'polynomial_decay'"},
    {"schedule", "step steplr multisteplr piecewise piecewiseconstant",
     "say 'piecewise_constant_decay'"},
    {"callback", "earlystop", "use 'early_stopping'"},
    {"callback", "savebest savebestmodel bestcheckpoint checkpoint",
     R"(use {"name": "model_checkpoint", "save_best_only": true})"},
    {"callback", "reducelr lronplateau plateau", "use 'reduce_lr_on_plateau'"},
    {"callback", "tensorboard history",
     "cairn history JOB --json has loss and metrics of every batch; leave it out"},
    {"callback", "learningratewarmupcallback warmup warmupcallback", "use 'learning_rate_warmup'"},
    {"callback", "learningrateschedulecallback lrscheduler lambdalr",
     R"(use {"name": "learning_rate_scheduler", "schedule": [0.1, 0.01]})"},
    {"callback", "metricaveragecallback",
     "metrics cover the examples of all workers; leave it out"},
    {"callback", "broadcastglobalvariablescallback",
     "all workers have the same values; leave it out"},
    {"callback", "lambdacallback callback callbacklist remotemonitor",
     "a job runs no Python; cairn follow JOB --json prints each epoch for programs"},
    {"callback", "orbaxcheckpoint",
     R"(use {"name": "model_checkpoint"}; cairn export writes Keras's files)"},
    {"callback", "progbarlogger", "cairn run and cairn follow show the progress; leave it out"},
    {"callback", "swapemaweights", R"(say "use_ema": true under "optimizer")"},
};

std::string Normalized(std::string_view word) {
  const std::string text(word);
  return absl::AsciiStrToLower(absl::StrReplaceAll(text, {{"_", ""}, {"-", ""}}));
}

bool Has(const char* list, std::string_view word) {
  for (const absl::string_view each : absl::StrSplit(list, ' ')) {
    if (std::string_view(each.data(), each.size()) == word) return true;
  }
  return false;
}

}  // namespace

std::string_view KerasWord(std::string_view place, std::string_view word) {
  const std::string normalized = Normalized(word);
  for (const Advice& advice : kAdvices) {
    if (Has(advice.place, place) && Has(advice.words, normalized)) return advice.text;
  }
  return "";
}

std::string UnknownNameText(std::string_view place, std::string_view name,
                            const std::vector<std::string>& known) {
  const std::string_view advice = KerasWord(place, name);
  if (advice.empty()) return KnownNamesText(name, known);
  return absl::StrCat(std::string(advice), "; known: ", absl::StrJoin(known, ", "));
}

}  // namespace cairn::nn
