/* Runs of a plan from Python, on numpy's arrays. Through cffi a run takes a microsecond more, as
 * long as a small network takes. The core knows nothing of Python. So this file is an extension
 * module of its own, qemu_nn._runner, and calls qn_run() by its address. */
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>

#include "qn.h"

typedef int run_function(const qn_call *, int64_t, int64_t, const void *, const void *);

/* Common parts of runs with inputs of one shape. All objects are those of `arguments`. */
typedef struct runner {
    PyObject *arguments;
    run_function *run;
    PyObject *idle; /* list of workspaces that no run uses */
    PyObject *make; /* makes another one */
    PyObject
        *ended; /* is told why a run has ended, and where: raises it, or returns to try again */
    long long samples, times;
    PyObject *like, *state_like; /* arrays of the inputs' and states' shapes and types */
    PyObject *results;           /* name -> array like the result, in the order of the file */
    PyObject *places;            /* bytes of int32_t: of each result its index in outputs */
    int cleared;                 /* results are zero before: not every run stores them all */
} runner;

static int is_like(PyObject *object, PyObject *like) {
    if (!PyArray_CheckExact(object)) {
        return 0;
    }
    PyArrayObject *a = (PyArrayObject *)object, *b = (PyArrayObject *)like;
    return PyArray_IS_C_CONTIGUOUS(a) && PyArray_NDIM(a) == PyArray_NDIM(b) &&
           PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(b)) &&
           (PyArray_DESCR(a) == PyArray_DESCR(b) ||
            PyArray_EquivTypes(PyArray_DESCR(a), PyArray_DESCR(b)));
}

static void *data_of(PyObject *array) { return PyArray_DATA((PyArrayObject *)array); }

static PyObject *new_array(PyArrayObject *like, int cleared) {
    PyArray_Descr *type = PyArray_DESCR(like);
    Py_INCREF(type); /* for the new array */
    return cleared ? PyArray_Zeros(PyArray_NDIM(like), PyArray_DIMS(like), type, 0)
                   : PyArray_Empty(PyArray_NDIM(like), PyArray_DIMS(like), type, 0);
}

/* New arrays by their names, which the next run writes to. */
static PyObject *new_results(const runner *r, void **outputs) {
    PyObject *made = PyDict_New(), *name, *like;
    const int32_t *place = (const int32_t *)PyBytes_AsString(r->places);
    Py_ssize_t at = 0;
    while (made && PyDict_Next(r->results, &at, &name, &like)) {
        PyObject *array = new_array((PyArrayObject *)like, r->cleared);
        if (array && PyDict_SetItem(made, name, array) == 0) {
            outputs[*place++] = data_of(array);
        } else {
            Py_CLEAR(made);
        }
        Py_XDECREF(array);
    }
    return made;
}

static PyObject *take_workspace(const runner *r) {
    const Py_ssize_t last = PyList_Size(r->idle) - 1;
    if (last < 0) { /* other threads work in all of them */
        return PyObject_CallObject(r->make, NULL);
    }
    PyObject *workspace = PyList_GetItem(r->idle, last);
    Py_INCREF(workspace);
    if (PyList_SetSlice(r->idle, last, last + 1, NULL) != 0) {
        Py_CLEAR(workspace);
    }
    return workspace;
}

static void *address_in(PyObject *workspace, Py_ssize_t at) {
    PyObject *address = PyTuple_GetItem(workspace, at);
    return address ? PyLong_AsVoidPtr(address) : NULL;
}

/* Return the results of a run in one workspace. NULL: Python raised, or `status` says why. */
static PyObject *run_in(const runner *r, PyObject *workspace, const void *x, const void *state,
                        int *status) {
    const qn_call *call = address_in(workspace, 0);
    void **outputs = address_in(workspace, 1);
    PyObject *made = PyErr_Occurred() ? NULL : new_results(r, outputs);
    if (!made) {
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    *status = r->run(call, r->samples, r->times, x, state);
    PyEval_RestoreThread(thread);
    if (*status != QN_OK || PyList_Append(r->idle, workspace) != 0) {
        Py_CLEAR(made);
    }
    return made;
}

static PyObject *run_of(const runner *r, const void *x, const void *state) {
    for (;;) {
        int status = QN_OK;
        PyObject *workspace = take_workspace(r);
        if (!workspace) {
            return NULL;
        }
        PyObject *made = run_in(r, workspace, x, state, &status), *again = NULL;
        if (!made && status != QN_OK) {
            again = PyObject_CallFunction(r->ended, "iO", status, workspace);
        }
        Py_DECREF(workspace);
        if (made || status == QN_OK) {
            return made;
        }
        if (!again) {
            return NULL;
        }
        Py_DECREF(again);
    }
}

static PyObject *run(PyObject *self, PyObject *x) {
    const runner *r = PyCapsule_GetPointer(self, NULL);
    if (!is_like(x, r->like)) {
        Py_RETURN_NONE;
    }
    return run_of(r, data_of(x), NULL);
}

static PyObject *run_from(PyObject *self, PyObject *arguments) {
    const runner *r = PyCapsule_GetPointer(self, NULL);
    PyObject *x, *state;
    if (!PyArg_ParseTuple(arguments, "OO:run", &x, &state)) {
        return NULL;
    }
    if (!is_like(x, r->like) || !is_like(state, r->state_like)) {
        Py_RETURN_NONE;
    }
    return run_of(r, data_of(x), data_of(state));
}

static PyMethodDef with_x = {
    "run", run, METH_O, "run(x): results by their names. None: x is not like the runner's inputs."};
static PyMethodDef with_state = {"run", run_from, METH_VARARGS, "run(x, state): the same."};

static void free_runner(PyObject *capsule) {
    runner *r = PyCapsule_GetPointer(capsule, NULL);
    Py_DECREF(r->arguments);
    PyMem_Free(r);
}

static PyObject *new_runner(PyObject *module, PyObject *arguments) {
    unsigned long long address;
    runner r = {.arguments = arguments};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "KO!OOLLO!OO!Sp:runner", &address, &PyList_Type, &r.idle,
                          &r.make, &r.ended, &r.samples, &r.times, &PyArray_Type, &r.like,
                          &r.state_like, &PyDict_Type, &r.results, &r.places, &r.cleared)) {
        return NULL;
    }
    r.run = (run_function *)(uintptr_t)address;
    runner *kept = PyMem_Malloc(sizeof *kept);
    PyObject *capsule = kept ? PyCapsule_New(kept, NULL, free_runner) : NULL;
    if (!capsule) {
        PyMem_Free(kept);
        return kept ? NULL : PyErr_NoMemory();
    }
    *kept = r;
    Py_INCREF(arguments);
    PyObject *made = PyCFunction_New(r.state_like == Py_None ? &with_x : &with_state, capsule);
    Py_DECREF(capsule);
    return made;
}

static PyMethodDef functions[] = {
    {"runner", new_runner, METH_VARARGS,
     "runner(qn_run, idle, make, ended, samples, times, x, state, results, places, cleared): what\n"
     "runs inputs like x, an array, and states like state if it is not None. qn_run: its address.\n"
     "ended(status, workspace) raises the reason of a run's end, or returns for another try.\n"
     "Workspaces are tuples that begin with the addresses of a qn_call and its outputs."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_runner", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__runner(void) {
    import_array();
    return PyModule_Create(&module);
}
